// Windows that slide over the last one to three dimensions of a tensor. All kernels of this family work on three: those
// that an operator does not have come first, where the tensor and the window have size 1.
#ifndef DIOPI_CORE_WINDOWS_H_
#define DIOPI_CORE_WINDOWS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "diopi_core/tensor.h"

namespace diopigen::core {

constexpr int kSpace = 3;
using Triple = std::array<int64_t, kSpace>;

// What this library counts along one dimension, so that sums and products of two sizes, strides and windows stay in an
// int64. Where something is larger, shape rules of contracts have no value either.
constexpr int64_t kLargestEntry = INT32_MAX;

inline int64_t volume(const Triple& sizes) { return sizes[0] * sizes[1] * sizes[2]; }

// The entries of a list for the last `space` dimensions; the others are `missing`.
inline Triple entries(const char* name, diopiSize_t list, int space, int64_t missing) {
    Triple result;
    result.fill(missing);
    for (int i = 0; i < space; ++i) {
        if (list.data[i] > kLargestEntry) {
            fail(std::string("parameter '") + name + "': this library takes entries up to " +
                 std::to_string(kLargestEntry));
        }
        result[kSpace - space + i] = list.data[i];
    }
    return result;
}

// The same for the size of a window, whose elements are counted as well.
inline Triple kernel_entries(const char* name, diopiSize_t list, int space) {
    const Triple kernel = entries(name, list, space, 1);
    int64_t elements = 1;
    for (const int64_t entry : kernel) {
        if (elements > kLargestEntry / entry) {
            fail(std::string("parameter '") + name + "': this library takes windows of up to " +
                 std::to_string(kLargestEntry) + " elements");
        }
        elements *= entry;
    }
    return kernel;
}

// That every dimension can be counted, and the elements of the tensor even if those without elements had one.
inline void require_countable(const Tensor& tensor) {
    int64_t elements = 1;
    for (int64_t i = 0; i < tensor.rank; ++i) {
        if (tensor.shape[i] > kLargestEntry ||
            __builtin_mul_overflow(elements, std::max<int64_t>(tensor.shape[i], 1), &elements)) {
            fail(std::string("parameter '") + tensor.name +
                 "' is larger than this library counts: " + shape_text(tensor.shape, tensor.rank));
        }
    }
}

// The sizes of the last `space` dimensions.
inline Triple space_of(const Tensor& tensor, int space) {
    Triple result{1, 1, 1};
    for (int i = 0; i < space; ++i) {
        result[kSpace - 1 - i] = tensor.shape[tensor.rank - 1 - i];
    }
    return result;
}

// A window and where it is placed: at i * stride - pad, elements `spread` apart.
struct Window {
    Triple kernel{1, 1, 1};
    Triple stride{1, 1, 1};
    Triple pad{0, 0, 0};
    Triple spread{1, 1, 1};

    // How far the window reaches.
    int64_t extent(int k) const { return spread[k] * (kernel[k] - 1) + 1; }
    // How many windows are within `size` padded elements.
    int64_t count(int k, int64_t size) const {
        const int64_t room = size + 2 * pad[k] - extent(k);
        return room < 0 ? 0 : room / stride[k] + 1;
    }
};

}  // namespace diopigen::core

#endif  // DIOPI_CORE_WINDOWS_H_
