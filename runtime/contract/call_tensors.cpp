#include "call_tensors.h"

#include "tensor_view.h"

namespace diopigen::contract {

void read(Operands operands, CallTensors& tensors) {
    tensors.clear();
    for (const Operand& operand : operands) {
        if (operand.kind != Kind::kTensor && operand.kind != Kind::kTensors) {
            continue;
        }
        const diopiTensorHandle_t* const handles =
            operand.kind == Kind::kTensor ? &operand.handle() : operand.handles();
        const int64_t count = handles == nullptr ? 0 : operand.count;
        for (int64_t i = 0; i < count; ++i) {
            CallTensor& tensor = tensors.emplace_back();
            tensor.operand = &operand;
            if (handles[i] != nullptr) {
                tensor.view = view_of(handles[i]);
            }
        }
    }
}

}  // namespace diopigen::contract
