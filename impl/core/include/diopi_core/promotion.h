// Type promotion by PyTorch's rules (Promotion of diopigen/dtypes.h), of tensors and numbers.
#ifndef DIOPI_CORE_PROMOTION_H_
#define DIOPI_CORE_PROMOTION_H_

#include <initializer_list>

#include "diopi_core/tensor.h"

namespace diopigen::core {

// An operand as promotion sees it; a null tensor does not count.
struct Promoted {
    Promoted(const Tensor& tensor)  // NOLINT: implicit, so that operands can be listed
        : dtype(tensor.is_null() ? Dtype::kUnsupported : tensor.dtype),
          level(tensor.rank > 0 ? Promotion::kDimensioned : Promotion::kZeroDimensional) {}
    Promoted(const Number& number);  // NOLINT

    Dtype dtype;
    int level;  // a Promotion::Class
};

// The dtype that the operands are computed in, as torch.result_type.
Dtype promote(std::initializer_list<Promoted> operands);

}  // namespace diopigen::core

#endif  // DIOPI_CORE_PROMOTION_H_
