// A call of a function of the interface on its way to a kernel: arguments that satisfy the contract of the operator.
#ifndef DIOPI_CORE_CALL_H_
#define DIOPI_CORE_CALL_H_

#include <optional>
#include <string_view>
#include <vector>

#include "checked_call.h"
#include "contracts.h"
#include "diopi_core/error.h"
#include "diopi_core/tensor.h"
#include "operand.h"
#include "table.h"

namespace diopigen::core {

namespace contract = ::diopigen::contract;
using contract::OperandList;

inline void require_covered(bool is_covered) {
    if (!is_covered) {
        fail("the library has no kernel for this function", diopiNoImplement);
    }
}

class Call {
  public:
    // Throws an Error where the arguments violate the contract; the message names the parameter or the constraint.
    Call(contract::Id id, contract::Operands operands);

    // By the position of the parameter. A tensor that is not passed, or an empty one in its stead, is a null view.
    Tensor tensor(int position) const;
    std::vector<Tensor> tensors(int position) const;

  private:
    contract::CallTensors::const_iterator first_of(int position) const;

    const contract::Parameter* rules_;
    contract::Operands operands_;
    contract::CheckedCall call_;
};

// Arguments as kernels take them.
Number number(const diopiScalar_t& scalar);
inline std::optional<Number> optional_number(const diopiScalar_t* scalar) {
    return scalar == nullptr ? std::nullopt : std::optional<Number>(number(*scalar));
}
template <typename T>
std::optional<T> optional_value(const T* value) {
    return value == nullptr ? std::nullopt : std::optional<T>(*value);
}
inline std::string_view text(const char* value) { return value == nullptr ? std::string_view() : value; }

}  // namespace diopigen::core

#endif  // DIOPI_CORE_CALL_H_
