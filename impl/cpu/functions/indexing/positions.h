// Index tensors: positions in a dimension, checked before anything is written.
#ifndef DIOPI_CPU_FUNCTIONS_INDEXING_POSITIONS_H_
#define DIOPI_CPU_FUNCTIONS_INDEXING_POSITIONS_H_

#include <atomic>
#include <string>
#include <vector>

#include "diopi_cpu/words.h"

namespace diopi::cpu {

enum class Negative { kRefused, kFromEnd };

// The positions that a tensor holds, in row-major order, each checked against the size of the dimension.
class Positions {
  public:
    Positions(const Tensor& index, int64_t size, Negative negative = Negative::kRefused)
        : values_(index), size_(size), count_(index.numel) {
        const int64_t least = negative == Negative::kFromEnd ? -size : 0;
        std::atomic<int64_t> wrong{-1};
        parallel_for(count_, 65536, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                if (values_[i].value < least || values_[i].value >= size) {
                    wrong = i;
                    return;
                }
            }
        });
        if (wrong >= 0) {
            fail(std::string("parameter '") + index.name + "' holds the position " +
                 std::to_string(values_[wrong].value) + ", but must lie in [" + std::to_string(least) + ", " +
                 std::to_string(size - 1) + "]");
        }
    }
    int64_t count() const { return count_; }
    int64_t operator[](int64_t i) const {
        const int64_t value = values_[i].value;
        return value < 0 ? value + size_ : value;
    }

  private:
    Input<Int64> values_;
    int64_t size_;
    int64_t count_;
};

// Adds slice k of `source` to slice `positions[k]` of `target`: [outer, count, inner] and [outer, size, inner].
template <typename T, typename Index>
void add_slices(T* target, const T* source, const Index& positions, int64_t count, const Around& place) {
    parallel_columns(place.outer, place.inner, count, [&](int64_t outer, int64_t begin, int64_t end) {
        for (int64_t k = 0; k < count; ++k) {
            T* to = target + (outer * place.size + positions[k]) * place.inner;
            const T* from = source + (outer * count + k) * place.inner;
            for (int64_t i = begin; i < end; ++i) {
                to[i] = to[i] + from[i];
            }
        }
    });
}

// The sizes that a call asks for as numbers, none of them negative, and one position in them counted from the end.
inline std::vector<int64_t> sizes_of(const char* name, diopiSize_t sizes) {
    require_sizes(name, sizes);
    std::vector<int64_t> result(sizes.data, sizes.data + sizes.len);
    for (const int64_t size : result) {
        if (size < 0) {
            fail(std::string("parameter '") + name + "' has the negative entry " + std::to_string(size));
        }
    }
    return result;
}

inline int64_t position(const char* name, int64_t index, int64_t size) {
    if (index < -size || index >= size) {
        fail(std::string("parameter '") + name + "' is " + std::to_string(index) + ", but must lie in [" +
             std::to_string(-size) + ", " + std::to_string(size - 1) + "]");
    }
    return index < 0 ? index + size : index;
}

}  // namespace diopi::cpu

#endif  // DIOPI_CPU_FUNCTIONS_INDEXING_POSITIONS_H_
