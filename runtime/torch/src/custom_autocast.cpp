// torch.autocast for operators of other namespaces than aten: by their schemas, for all of them alike.
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <diopigen_torch/custom.h>

namespace diopigen::backend {

namespace {

bool isFloating(const c10::IValue& value) {
    return value.isTensor() && value.toTensor().defined() && value.toTensor().is_floating_point();
}

void castArguments(torch::jit::Stack& stack, size_t begin, at::ScalarType type) {
    for (size_t i = begin; i < stack.size(); ++i) {
        if (isFloating(stack[i])) {
            stack[i] = at::autocast::cached_cast(type, stack[i].toTensor(), c10::DeviceType::PrivateUse1);
        }
    }
}

void computeInWidest(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    const c10::impl::ExcludeDispatchKeyGuard guard(c10::DispatchKey::AutocastPrivateUse1);
    const size_t begin = stack->size() - op.schema().arguments().size();
    std::optional<at::ScalarType> widest;
    for (size_t i = begin; i < stack->size(); ++i) {
        if (isFloating((*stack)[i])) {
            const at::ScalarType type = (*stack)[i].toTensor().scalar_type();
            widest = widest.has_value() ? at::promote_types(*widest, type) : type;
        }
    }
    if (widest.has_value()) {
        castArguments(*stack, begin, *widest);
    }
    op.callBoxed(stack);
}

}  // namespace

void computeInFloat32(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    const c10::impl::ExcludeDispatchKeyGuard guard(c10::DispatchKey::AutocastPrivateUse1);
    const size_t begin = stack->size() - op.schema().arguments().size();
    const at::ScalarType type = (*stack)[begin].toTensor().scalar_type();
    for (size_t i = begin; i < stack->size(); ++i) {
        // Numbers in float64 stay what they are: only what autocast has made smaller grows.
        if (isFloating((*stack)[i]) && (*stack)[i].toTensor().scalar_type() == at::kDouble) {
            op.callBoxed(stack);
            return;
        }
    }
    castArguments(*stack, begin, at::kFloat);
    op.callBoxed(stack);
    for (size_t i = begin; i < stack->size(); ++i) {
        if (isFloating((*stack)[i])) {
            (*stack)[i] = (*stack)[i].toTensor().to(type);
        }
    }
}

void promoteOperands(torch::Library& library, const char* name) {
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&computeInWidest>());
}

}  // namespace diopigen::backend
