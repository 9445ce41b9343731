// Kinds of tensors that the device does not compute with: each operator on one is refused in a sentence.
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/DeviceType.h>
#include <diopigen_torch/fallback.h>
#include <torch/library.h>

namespace diopigen::backend {

namespace {

[[noreturn]] void refuse(const c10::OperatorHandle& op, const char* kind) {
    TORCH_CHECK_NOT_IMPLEMENTED(false, overloadName(op), ": ", c10::get_privateuse1_backend(),
                                " does not compute with ", kind, " tensors: keep them on the CPU, or make them dense");
}

void refuseSparse(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* /*stack*/) {
    refuse(op, "sparse");
}

void refuseQuantized(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* /*stack*/) {
    refuse(op, "quantized");
}

void refuseNested(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* /*stack*/) {
    refuse(op, "nested");
}

// nn.TransformerEncoder makes nested tensors where all padding is on the right: with this answer they stay dense.
bool isLeftAligned(const at::Tensor& /*tensor*/, const at::Tensor& /*mask*/) { return false; }

at::Tensor nestedFromMask(const at::Tensor& /*tensor*/, const at::Tensor& /*mask*/, bool /*checksMask*/) {
    TORCH_CHECK_NOT_IMPLEMENTED(false, "_nested_tensor_from_mask: ", c10::get_privateuse1_backend(),
                                " does not compute with nested tensors: make nn.TransformerEncoder with "
                                "enable_nested_tensor=False");
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
    library.impl("_nested_tensor_from_mask_left_aligned", isLeftAligned);
    library.impl("_nested_tensor_from_mask", nestedFromMask);
}

TORCH_LIBRARY_IMPL(_, SparsePrivateUse1, library) {
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&refuseSparse>());
}

TORCH_LIBRARY_IMPL(_, SparseCsrPrivateUse1, library) {
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&refuseSparse>());
}

TORCH_LIBRARY_IMPL(_, QuantizedPrivateUse1, library) {
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&refuseQuantized>());
}

TORCH_LIBRARY_IMPL(_, NestedTensorPrivateUse1, library) {
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&refuseNested>());
}

}  // namespace

}  // namespace diopigen::backend
