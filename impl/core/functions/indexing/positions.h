// Index tensors: positions in a dimension, checked before anything is written.
#ifndef DIOPI_CORE_FUNCTIONS_INDEXING_POSITIONS_H_
#define DIOPI_CORE_FUNCTIONS_INDEXING_POSITIONS_H_

#include <string>
#include <vector>

#include "diopi_core/clones.h"
#include "diopi_core/raw_elements.h"

namespace diopigen::core {

// Whether all values are in [least, end).
DIOPI_CPU_CLONES inline bool are_within(const Int64* values, int64_t count, int64_t least, int64_t end) {
    int64_t wrong = 0;  // of the width of elements, so that both fit the same vectors
    for (int64_t i = 0; i < count; ++i) {
        wrong |= static_cast<int64_t>(values[i].value < least) | static_cast<int64_t>(values[i].value >= end);
    }
    return wrong == 0;
}

// Refuses positions outside of [least, end), naming one of them.
void check_positions(const Tensor& index, const Input<Int64>& values, int64_t least, int64_t end);
std::string position_text(const char* index, int64_t value, int64_t least, int64_t end);

enum class Negative { kRejected, kFromEnd };

// The positions that a tensor holds, in row-major order, each checked against the size of the dimension.
class Positions {
  public:
    Positions(const Tensor& index, int64_t size, Negative negative = Negative::kRejected)
        : values_(index), size_(size), count_(index.numel) {
        check_positions(index, values_, negative == Negative::kFromEnd ? -size : 0, size);
    }
    int64_t count() const { return count_; }
    // The size of the dimension that the positions are in.
    int64_t size() const { return size_; }
    // As they are: negative ones count from the end.
    const Int64* data() const { return values_.data(); }
    int64_t operator[](int64_t i) const {
        const int64_t value = values_[i].value;
        return value < 0 ? value + size_ : value;
    }

  private:
    Input<Int64> values_;
    int64_t size_;
    int64_t count_;
};

// Slice `positions[k]` of `from` goes to slice k of `to`: [outer, size, inner] and [outer, count, inner].
template <typename W, typename Index>
void pick_slices(W* to, const W* from, const Index& positions, int64_t count, const DimSplit& split) {
    if (split.inner == 1) {
        parallel_for(split.outer * count, 8192, [&](int64_t begin, int64_t end) {
            while (begin < end) {
                const W* row = from + begin / count * split.size;
                const int64_t first = begin % count;
                const int64_t length = std::min(count - first, end - begin);
                for (int64_t k = 0; k < length; ++k) {
                    to[begin + k] = row[positions[first + k]];
                }
                begin += length;
            }
        });
        return;
    }
    parallel_for(split.outer * count, row_grain(split.inner), [&](int64_t begin, int64_t end) {
        for (int64_t slice = begin; slice < end; ++slice) {
            const int64_t outer = slice / count;
            std::copy_n(from + (outer * split.size + positions[slice - outer * count]) * split.inner, split.inner,
                        to + slice * split.inner);
        }
    });
}

template <typename T>
DIOPI_CPU_CLONES void add_to(T* __restrict to, const T* __restrict from, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        to[i] = to[i] + from[i];
    }
}

// Adds slice k of `source` to slice `positions[k]` of `target`: [outer, count, inner] and [outer, size, inner]. Threads
// have columns of their own in whole lines of the cache, or where there are few, slices of the target of their own.
// What is added to an element comes in the order of k either way.
template <typename T, typename Index>
void add_slices(T* target, const T* source, const Index& positions, int64_t count, const DimSplit& split) {
    constexpr int64_t kWidth = 64;
    const int64_t inner = split.inner;
    const auto add = [&](int64_t outer, int64_t k, int64_t position, int64_t begin, int64_t end) {
        T* to = target + (outer * split.size + position) * inner;
        const T* from = source + (outer * count + k) * inner;
        if (inner == 1) {
            to[0] = to[0] + from[0];
        } else {
            add_to(to + begin, from + begin, end - begin);
        }
    };
    const int64_t strips = (inner + kWidth - 1) / kWidth;
    const bool has_few = split.outer * strips < 2 * thread_count();
    if (has_few && thread_count() > 1 && inner > 1 && split.outer * count * inner > 16384) {
        parallel_for(split.size, (split.size - 1) / thread_count() + 1, [&](int64_t first, int64_t last) {
            for (int64_t outer = 0; outer < split.outer; ++outer) {
                for (int64_t k = 0; k < count; ++k) {  // every thread reads all positions
                    const int64_t position = positions[k];
                    if (first <= position && position < last) {
                        add(outer, k, position, 0, inner);
                    }
                }
            }
        });
        return;
    }
    parallel_columns(split.outer, strips, kWidth * count, [&](int64_t outer, int64_t begin, int64_t end) {
        for (int64_t k = 0; k < count; ++k) {
            add(outer, k, positions[k], begin * kWidth, std::min(end * kWidth, inner));
        }
    });
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_INDEXING_POSITIONS_H_
