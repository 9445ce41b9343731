#include "diopi_core/call.h"

#include <algorithm>
#include <string>

#include "table.h"
#include "tensor_of.h"

namespace diopigen::core {

namespace {

Tensor missing(const char* name) {
    Tensor result;
    result.name = name;
    return result;
}

}  // namespace

Call::Call(contract::Id id, contract::Operands operands)
    : rules_(&contract::kParameters[contract::kContracts[id].parameters_first]),
      operands_(operands),
      call_(id, operands) {
    if (const std::optional<contract::Failure> found = call_.violation()) {
        fail(found->what(), found->status());
    }
}

Tensor Call::tensor(int position) const {
    const contract::CallTensor& passed = *first_of(position);
    const diopiSize_t& shape = passed.view.shape;
    // Hosts pass an empty tensor for one that is not there.
    const bool is_empty = rules_[position].is_nullable && shape.len == 1 && shape.data[0] == 0;
    return passed.view.is_null() || is_empty ? missing(rules_[position].name)
                                             : tensor_of(passed.operand->name, passed.view);
}

std::vector<Tensor> Call::tensors(int position) const {
    std::vector<Tensor> members;
    for (auto passed = first_of(position); passed != call_.tensors().end(); ++passed) {
        if (passed->operand != operands_.first + position) {
            break;
        }
        members.push_back(passed->view.is_null() ? missing(rules_[position].name)
                                                 : tensor_of(passed->operand->name, passed->view));
    }
    return members;
}

contract::CallTensors::const_iterator Call::first_of(int position) const {
    return std::find_if(call_.tensors().begin(), call_.tensors().end(), [&](const contract::CallTensor& passed) {
        return passed.operand == operands_.first + position;
    });
}

Number number(const diopiScalar_t& scalar) {
    Number result;
    result.dtype = from_public(scalar.stype);
    require(result.dtype != Dtype::kUnsupported, "a number has a dtype that the library does not support",
            diopiDtypeNotSupported);
    result.is_real = is_floating(result.dtype);
    if (result.is_real) {
        result.real = scalar.fval;
    } else {
        result.integer = result.dtype == Dtype::kBool ? scalar.ival != 0 : scalar.ival;
    }
    return result;
}

}  // namespace diopigen::core
