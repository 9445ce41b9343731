#include "diopi_core/promotion.h"

namespace diopigen::core {

// A number counts as the default dtype of its category.
Promoted::Promoted(const Number& number)
    : dtype(number.is_real                 ? Dtype::kFloat32
            : number.dtype == Dtype::kBool ? Dtype::kBool
                                           : Dtype::kInt64),
      level(Promotion::kNumber) {}

Dtype promote(std::initializer_list<Promoted> operands) {
    Promotion promotion;
    for (const Promoted& operand : operands) {
        if (operand.dtype != Dtype::kUnsupported) {
            promotion.add(to_public(operand.dtype), static_cast<Promotion::Class>(operand.level));
        }
    }
    const diopiDtype_t result = promotion.result();
    // No tensor of these libraries is of complex32, which halves and complex numbers give.
    return from_public(result == diopi_dtype_complex32 ? dtype_facts(result).compute : result);
}

}  // namespace diopigen::core
