// Std by one walk through memory: the mean and the squared distances from it of one block after the other, each of
// which stays in the cache, joined as Chan, Golub and LeVeque (1979) do. All is summed in double, relative to an
// element of the block, so that what counts for the error is how far elements are apart, not how far they are from
// zero. The loops.
#include <cmath>

#include "diopi_cpu/reduce.h"
#include "reduction/reduction_kernels.h"

namespace diopigen::core {

using namespace cpu;

namespace {

template <typename A>
struct Moments {
    double count = 0;
    A origin = A(0);
    A mean = A(0);       // of the distances from the origin
    double squares = 0;  // of the distances from origin + mean
};

inline double square(double x) { return x * x; }
inline double square(Complex128 x) { return x.real() * x.real() + x.imag() * x.imag(); }

template <typename A>
Moments<A> joined(const Moments<A>& a, const Moments<A>& b) {
    if (a.count == 0 || b.count == 0) {
        return a.count == 0 ? b : a;
    }
    const double count = a.count + b.count;
    const A apart = (b.origin - a.origin) + (b.mean - a.mean);
    return {count, a.origin, a.mean + apart * (b.count / count),
            a.squares + b.squares + square(apart) * (a.count * b.count / count)};
}

template <typename S, typename A>
struct Total {
    A origin;
    A identity() const { return A(0); }
    A add(A sum, S x) const { return sum + (cast<A>(x) - origin); }
    A join(A a, A b) const { return a + b; }
};

template <typename S, typename A>
struct Distances {
    A origin;
    A mean;
    double identity() const { return 0; }
    double add(double sum, S x) const { return sum + square((cast<A>(x) - origin) - mean); }
    double join(double a, double b) const { return a + b; }
};

// The moments of some columns.
template <typename S, typename A>
struct Strip {
    static constexpr int64_t kWidth = 256;
    A origins[kWidth];
    A means[kWidth];
    double squares[kWidth];

    DIOPI_CPU_CLONES void take(int64_t width, const S* data, int64_t stride, int64_t count) {
        for (int64_t k = 0; k < width; ++k) {
            origins[k] = cast<A>(data[k]);
            means[k] = A(0);
            squares[k] = 0;
        }
        for (int64_t i = 1; i < count; ++i) {
            for (int64_t k = 0; k < width; ++k) {
                means[k] += cast<A>(data[i * stride + k]) - origins[k];
            }
        }
        for (int64_t k = 0; k < width; ++k) {
            means[k] = means[k] / A(static_cast<double>(count));
        }
        for (int64_t i = 0; i < count; ++i) {
            for (int64_t k = 0; k < width; ++k) {
                squares[k] += square((cast<A>(data[i * stride + k]) - origins[k]) - means[k]);
            }
        }
    }
};

template <typename S>
struct MomentsReducer {
    using A = Accumulator<Computed<S>>;
    using State = Moments<A>;
    static constexpr int64_t kBlock = 2048;
    static constexpr int64_t kRows = 32;

    State identity() const { return {}; }
    State join(const State& a, const State& b) const { return joined(a, b); }

    void rows(State* out, int64_t results, int64_t stride, const S* data, int64_t count, int64_t /*first*/) const {
        for (int64_t r = 0; r < results; ++r) {
            for (int64_t i = 0; i < count; i += kBlock) {
                const S* block = data + r * stride + i;
                const int64_t length = std::min(kBlock, count - i);
                State own;
                own.count = static_cast<double>(length);
                own.origin = cast<A>(block[0]);
                cpu::detail::reduce_row(Total<S, A>{own.origin}, own.mean, block, length);
                own.mean = own.mean / A(own.count);
                cpu::detail::reduce_row(Distances<S, A>{own.origin, own.mean}, own.squares, block, length);
                out[r] = joined(out[r], own);
            }
        }
    }

    void columns(State* out, int64_t width, const S* data, int64_t stride, int64_t count, int64_t /*first*/) const {
        Strip<S, A> strip;
        for (int64_t column = 0; column < width; column += strip.kWidth) {
            const int64_t own = std::min(strip.kWidth, width - column);
            for (int64_t row = 0; row < count; row += kRows) {
                const int64_t length = std::min(kRows, count - row);
                strip.take(own, data + row * stride + column, stride, length);
                for (int64_t k = 0; k < own; ++k) {
                    out[column + k] = joined(out[column + k], {static_cast<double>(length), strip.origins[k],
                                                               strip.means[k], strip.squares[k]});
                }
            }
        }
    }
};

}  // namespace

void deviations(const Tensor& out_tensor, const Tensor& input_tensor, const Rows& rows, double divisor) {
    const ReductionLayout layout(input_tensor, rows, Walk::kMemory);
    dispatch<kFloating | kComplex>(input_tensor.dtype, [&](auto sample) {
        using S = decltype(sample);
        const auto states = reduce<S>(layout, MomentsReducer<S>());
        store_states<double>(layout, out_tensor, states,
                             [&](const auto& moments) { return std::sqrt(moments.squares / divisor); });
    });
}

}  // namespace diopigen::core
