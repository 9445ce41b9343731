// Windows that slide over the last one to three dimensions of a tensor. All kernels of this family work on three: those
// that an operator does not have are in front, where the tensor and the window have size 1.
#ifndef DIOPI_CPU_WINDOWS_H_
#define DIOPI_CPU_WINDOWS_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "diopi_cpu/tensor.h"

namespace diopi::cpu {

constexpr int kSpace = 3;
using Triple = std::array<int64_t, kSpace>;

// Entries of lists are at most this, so that products and sums of two of them stay in an int64.
constexpr int64_t kLargestEntry = INT32_MAX;

inline int64_t volume(const Triple& sizes) { return sizes[0] * sizes[1] * sizes[2]; }

// A product of sizes that no tensor has vouched for yet; one that an int64 does not hold is refused.
inline int64_t checked_product(const char* name, std::initializer_list<int64_t> factors) {
    int64_t product = 1;
    for (const int64_t factor : factors) {
        if (__builtin_mul_overflow(product, factor, &product)) {
            fail(std::string("parameter '") + name + "' makes the result larger than any tensor");
        }
    }
    return product;
}

// The list of a parameter as the last `space` entries, all at least `least`; the others are `missing`. `constraint` is
// the one that a wrong list breaks.
inline Triple entries(const char* constraint, const char* name, diopiSize_t list, int space, int64_t least,
                      int64_t missing) {
    require_sizes(name, list);
    bool is_right = list.len == space;
    Triple result;
    result.fill(missing);
    for (int64_t i = 0; is_right && i < space; ++i) {
        is_right = list.data[i] >= least && list.data[i] <= kLargestEntry;
        result[kSpace - space + i] = list.data[i];
    }
    if (!is_right) {
        fail(std::string(constraint) + ": parameter '" + name + "' must have " + std::to_string(space) +
             (space == 1 ? " entry" : " entries, each") + " from " + std::to_string(least) + " to " +
             std::to_string(kLargestEntry));
    }
    return result;
}

// The sizes of the last `space` dimensions.
inline Triple space_of(const Tensor& tensor, int space) {
    Triple result{1, 1, 1};
    for (int i = 0; i < space; ++i) {
        result[kSpace - 1 - i] = tensor.shape[tensor.rank - 1 - i];
    }
    return result;
}

// The shape of a tensor with other sizes in the last `space` dimensions.
inline std::vector<int64_t> with_space(const Tensor& tensor, const Triple& sizes, int space) {
    std::vector<int64_t> shape(tensor.shape, tensor.shape + tensor.rank);
    for (int i = 0; i < space; ++i) {
        shape[shape.size() - 1 - i] = sizes[kSpace - 1 - i];
    }
    return shape;
}

// `batched` dimensions or one less; all but the batch have elements. `constraint` says so.
inline void require_planes(const Tensor& tensor, int64_t batched, const char* constraint = "C1") {
    bool is_right = tensor.rank == batched || tensor.rank == batched - 1;
    for (int64_t i = tensor.rank - batched + 1; is_right && i < tensor.rank; ++i) {
        is_right = tensor.shape[i] > 0;
    }
    if (!is_right) {
        fail(std::string(constraint) + ": parameter '" + tensor.name + "' must have " + std::to_string(batched - 1) +
             " or " + std::to_string(batched) + " dimensions, of which only the batch may be empty; it has the shape " +
             shape_text(tensor.shape, tensor.rank));
    }
}

// What operators of this family ask of a result and the operands that it is computed from; null ones are left out.
inline void require_operands(const Tensor& written, std::initializer_list<const Tensor*> operands) {
    require_no_overlap(written);
    for (const Tensor* operand : operands) {
        require_one_device({&written, operand});
        require_disjoint(written, *operand);
    }
}

// A window and where it is placed: at i * step - pad, elements `spread` apart.
struct Window {
    Triple kernel{1, 1, 1};
    Triple step{1, 1, 1};
    Triple pad{0, 0, 0};
    Triple spread{1, 1, 1};

    // How far the window reaches.
    int64_t extent(int k) const { return spread[k] * (kernel[k] - 1) + 1; }
    // How many windows lie within `size` padded elements.
    int64_t count(int k, int64_t size) const {
        const int64_t room = size + 2 * pad[k] - extent(k);
        return room < 0 ? 0 : room / step[k] + 1;
    }
};

}  // namespace diopi::cpu

#endif  // DIOPI_CPU_WINDOWS_H_
