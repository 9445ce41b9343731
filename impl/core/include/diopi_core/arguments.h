// What kernels make of arguments that satisfy the contract of their operator.
#ifndef DIOPI_CORE_ARGUMENTS_H_
#define DIOPI_CORE_ARGUMENTS_H_

#include <cstdint>
#include <optional>

#include "diopi_core/kernel_checks.h"
#include "diopi_core/raw_elements.h"
#include "diopi_core/reduction.h"
#include "diopi_core/tensor.h"

namespace diopigen::core {

// What comes before a dimension, the dimension, what comes after it; a 0-d tensor counts as [1].
inline DimSplit split_at(const Tensor& tensor, int64_t dim) {
    return split_at(shape_at_least_1d(tensor), wrap_dim(dim, tensor.rank));
}

// All dimensions where `dims` is empty.
inline Rows rows_over(const Tensor& input, diopiSize_t dims) { return rows_over(input, "dim", dims); }
// All dimensions where there is no `dim`.
inline Rows rows_over(const Tensor& input, std::optional<int64_t> dim) {
    return rows_over(input, dim ? diopiSize_t{&*dim, 1} : diopiSize_t{nullptr, 0});
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_ARGUMENTS_H_
