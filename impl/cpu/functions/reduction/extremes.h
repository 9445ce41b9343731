// Reduces to the largest or smallest element, with and without its position. NaN is more extreme than every number; of
// equal elements the first counts.
#ifndef DIOPI_CPU_REDUCTION_EXTREMES_H_
#define DIOPI_CPU_REDUCTION_EXTREMES_H_

#include <algorithm>
#include <limits>
#include <type_traits>

#include "diopi_core/math.h"
#include "diopi_cpu/reduce.h"

namespace diopigen::cpu {

using namespace core;

// The ends of a type: infinities where it has them.
template <typename T>
T end_of(bool upper) {
    if constexpr (std::is_floating_point_v<T>) {
        return upper ? std::numeric_limits<T>::infinity() : -std::numeric_limits<T>::infinity();
    } else if constexpr (std::is_same_v<T, Bool>) {
        return Bool(upper);
    } else {
        using UniformInteger = std::numeric_limits<decltype(T::value)>;
        return T(upper ? UniformInteger::max() : UniformInteger::lowest());
    }
}

struct Largest {
    static constexpr bool kUpper = true;
    template <typename T>
    static bool precedes(T a, T b) {
        return a > b;
    }
};

struct Smallest {
    static constexpr bool kUpper = false;
    template <typename T>
    static bool precedes(T a, T b) {
        return a < b;
    }
};

// The value alone.
template <typename Extreme, typename S>
struct ExtremeValue {
    using T = Computed<S>;

    T identity() const { return end_of<T>(!Extreme::kUpper); }
    T add(T best, S x) const { return join(best, cast<T>(x)); }
    T join(T best, T value) const {
        // In this form compilers make vector instructions of it.
        const T better = Extreme::precedes(value, best) ? value : best;
        return value != value ? value : better;
    }
};

// An element with its position.
template <typename T>
struct Found {
    T value;
    int64_t at;  // -1 for none
};

template <typename Extreme, typename S>
struct ExtremeIndex {
    using T = Computed<S>;
    using State = Found<T>;
    // Positions within a call have the width of elements, so that both fit the same vectors.
    using Index = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
    static constexpr int64_t kBlock = 2048;
    static constexpr int64_t kStrip = 512;

    State identity() const { return {T(0), -1}; }

    State join(State a, State b) const {
        if (a.at < 0 || b.at < 0) {
            return a.at < 0 ? b : a;
        }
        return wins(b.value, a.value) ? b : a;
    }

    void rows(State* out, int64_t results, int64_t stride, const S* data, int64_t count, int64_t first) const {
        for (int64_t r = 0; r < results; ++r) {
            out[r] = join(out[r], in_run(data + r * stride, count, first));
        }
    }

    void columns(State* out, int64_t width, const S* data, int64_t stride, int64_t count, int64_t first) const {
        T best[kStrip];
        Index indices[kStrip];
        for (int64_t column = 0; column < width; column += kStrip) {
            const int64_t strip = std::min(kStrip, width - column);
            in_columns(best, indices, strip, data + column, stride, count);
            for (int64_t k = 0; k < strip; ++k) {
                out[column + k] = join(out[column + k], {best[k], first + indices[k]});
            }
        }
    }

  private:
    // Whether a later element replaces an earlier one.
    static bool wins(T value, T best) { return Extreme::precedes(value, best) || (value != value && best == best); }

    // The best value of each block first, and then its index in the one block that has the best of all.
    static State in_run(const S* data, int64_t count, int64_t first) {
        T best = cast<T>(data[0]);
        int64_t block = 0;
        for (int64_t i = 0; i < count; i += kBlock) {
            T own = cast<T>(data[i]);
            detail::reduce_rows(ExtremeValue<Extreme, S>(), &own, 1, 0, data + i, std::min(kBlock, count - i));
            if (wins(own, best)) {
                best = own;
                block = i;
            }
        }
        const int64_t at = block + position_of(best, data + block, std::min(kBlock, count - block));
        return {cast<T>(data[at]), first + at};
    }

    // The first of `count` elements that is `best`, which is among them.
    DIOPI_CPU_CLONES static int64_t position_of(T best, const S* data, int64_t count) {
        constexpr int64_t kTogether = 64;
        const auto matches = [best](S x) {
            const T value = cast<T>(x);
            return static_cast<int>(value == best) |
                   (static_cast<int>(value != value) & static_cast<int>(best != best));
        };
        int64_t i = 0;
        for (int found = 0; i + kTogether <= count; i += kTogether) {
            for (int64_t k = 0; k < kTogether; ++k) {
                found |= matches(data[i + k]);
            }
            if (found != 0) {
                break;
            }
        }
        while (matches(data[i]) == 0) {
            ++i;
        }
        return i;
    }

    DIOPI_CPU_CLONES static void in_columns(T* __restrict best, Index* __restrict indices, int64_t width,
                                            const S* __restrict data, int64_t stride, int64_t count) {
        for (int64_t k = 0; k < width; ++k) {
            best[k] = cast<T>(data[k]);
            indices[k] = 0;
        }
        for (int64_t i = 1; i < count; ++i) {
            const S* row = data + i * stride;
            const auto index = static_cast<Index>(i);
            for (int64_t k = 0; k < width; ++k) {
                const T value = cast<T>(row[k]);
                const int better = static_cast<int>(Extreme::precedes(value, best[k])) |
                                   (static_cast<int>(value != value) & static_cast<int>(best[k] == best[k]));
                best[k] = where(better != 0, value, best[k]);
                indices[k] = better != 0 ? index : indices[k];
            }
        }
    }
};

}  // namespace diopigen::cpu

#endif  // DIOPI_CPU_REDUCTION_EXTREMES_H_
