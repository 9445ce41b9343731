#include "diopi_core/promotion.h"

namespace diopigen::core {

// A number counts as the default dtype of its category.
Promoted::Promoted(const Number& number)
    : dtype(number.is_real                 ? Dtype::kFloat32
            : number.dtype == Dtype::kBool ? Dtype::kBool
                                           : Dtype::kInt64),
      level(2) {}

Dtype promote(std::initializer_list<Promoted> operands) {
    Dtype levels[3] = {Dtype::kUnsupported, Dtype::kUnsupported, Dtype::kUnsupported};
    for (const Promoted& operand : operands) {
        if (operand.dtype != Dtype::kUnsupported) {
            Dtype& own = levels[operand.level];
            own = own == Dtype::kUnsupported ? operand.dtype : promote(own, operand.dtype);
        }
    }
    Dtype result = Dtype::kUnsupported;
    for (const Dtype own : levels) {
        if (own == Dtype::kUnsupported) {
            continue;
        }
        if (result == Dtype::kUnsupported) {
            result = own;
        } else if (category(own) > category(result)) {
            // A lower level raises the category, but does not widen what is floating already.
            const bool keeps_width = is_complex(own) && result == Dtype::kFloat64;
            result = keeps_width                              ? Dtype::kComplex128
                     : is_complex(own) && is_floating(result) ? Dtype::kComplex64
                                                              : own;
        }
    }
    return result;
}

}  // namespace diopigen::core
