#include "call_tensors.h"

#include "failure.h"

namespace diopigen::contract {

namespace {

void describe(diopiConstTensorHandle_t handle, TensorView& view) {
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
        if (operand.kind != Kind::tensor && operand.kind != Kind::tensors) {
            continue;
        }
        const diopiTensorHandle_t* const handles = operand.kind == Kind::tensor ? &operand.handle() : operand.handles();
        const int64_t count = handles == nullptr ? 0 : operand.count;
        for (int64_t i = 0; i < count; ++i) {
            CallTensor& tensor = tensors.emplace_back();
            tensor.operand = &operand;
            if (handles[i] != nullptr) {
                describe(handles[i], tensor.view);
            }
        }
    }
}

}  // namespace diopigen::contract
