#include "call_tensors.h"

#include "failure.h"

namespace diopigen::contract {

namespace {

void add(const Operand& operand, diopiConstTensorHandle_t handle, CallTensors& tensors) {
    CallTensor& tensor = tensors.emplace_back();
    TensorView& view = tensor.view;
    tensor.operand = &operand;
    if (handle == nullptr) {
        return;
    }
    view.handle = handle;
    require(diopiGetTensorShape(handle, &view.shape), "diopiGetTensorShape");
    require(diopiGetTensorDtype(handle, &view.dtype), "diopiGetTensorDtype");
    // These functions are weak: a host may lack them.
    if (diopiGetTensorDevice != nullptr) {
        require(diopiGetTensorDevice(handle, &view.device), "diopiGetTensorDevice");
    }
    if (diopiIsTensorSparse != nullptr) {
        require(diopiIsTensorSparse(handle, &view.isSparse), "diopiIsTensorSparse");
    }
    if (!view.isSparse) {
        require(diopiGetTensorStride(handle, &view.stride), "diopiGetTensorStride");
        require(diopiGetTensorDataConst(handle, &view.data), "diopiGetTensorDataConst");
    }
}

}  // namespace

void read(Operands operands, CallTensors& tensors) {
    tensors.clear();
    for (const Operand& operand : operands) {
        if (operand.kind == Kind::tensor) {
            add(operand, operand.handle(), tensors);
        } else if (operand.kind == Kind::tensors && operand.handles() != nullptr) {
            for (int64_t i = 0; i < operand.count; ++i) {
                add(operand, operand.handles()[i], tensors);
            }
        }
    }
}

}  // namespace diopigen::contract
