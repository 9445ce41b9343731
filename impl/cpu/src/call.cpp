#include "diopi_cpu/call.h"

#include <algorithm>
#include <string>

#include "table.h"

namespace diopi::cpu {

namespace {

// A view of a tensor as kernels take it. The library has fewer dtypes than the interface.
Tensor tensor_of(const contract::CallTensor& given) {
    const contract::TensorView& view = given.view;
    Tensor result;
    result.name = given.operand->name;
    result.handle = const_cast<diopiTensorHandle_t>(view.handle);
    result.data = const_cast<void*>(view.data);
    result.shape = view.shape.data;
    result.strides = view.stride.data;
    result.rank = view.shape.len;
    result.dtype = from_public(view.dtype);
    result.device = view.device;
    result.numel = 1;
    for (int64_t i = 0; i < result.rank; ++i) {
        result.numel *= result.shape[i];
    }
    const auto require_that = [&](bool holds, const char* text, diopiError_t status = diopiErrorOccurred) {
        if (!holds) {
            fail(std::string("'") + result.name + "' " + text, status);
        }
    };
    require_that(result.rank <= kMaxRank, "has more than 64 dimensions");
    require_that(result.dtype != Dtype::kUnsupported, "has a dtype that the library does not support",
                 diopiDtypeNotSupported);
    require_that(view.isSparse || result.data != nullptr || result.numel == 0, "has elements but no data");
    return result;
}

Tensor missing(const char* name) {
    Tensor result;
    result.name = name;
    return result;
}

}  // namespace

Call::Call(contract::Id id, contract::Operands operands)
    : rules_(&contract::parameters[contract::contracts[id].parametersFirst]), operands_(operands), call_(id, operands) {
    if (const std::optional<contract::Failure> found = call_.violation()) {
        fail(found->what(), found->status());
    }
    for (const contract::CallTensor& given : call_.tensors()) {
        if (given.view.isSparse && id != contract::kSpMM) {
            fail(std::string("'") + given.operand->name + "' is sparse; the operator takes dense tensors");
        }
    }
}

Tensor Call::tensor(int position) const {
    const contract::CallTensor& given = *first_of(position);
    const diopiSize_t& shape = given.view.shape;
    // Hosts pass an empty tensor for one that is not there.
    const bool is_empty = rules_[position].isNullable && shape.len == 1 && shape.data[0] == 0;
    return given.view.isNull() || is_empty ? missing(rules_[position].name) : tensor_of(given);
}

std::vector<Tensor> Call::tensors(int position) const {
    std::vector<Tensor> members;
    for (auto given = first_of(position); given != call_.tensors().end(); ++given) {
        if (given->operand != operands_.first + position) {
            break;
        }
        members.push_back(given->view.isNull() ? missing(rules_[position].name) : tensor_of(*given));
    }
    return members;
}

contract::CallTensors::const_iterator Call::first_of(int position) const {
    return std::find_if(call_.tensors().begin(), call_.tensors().end(),
                        [&](const contract::CallTensor& given) { return given.operand == operands_.first + position; });
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

}  // namespace diopi::cpu
