// torch.autocast for operators of other namespaces than aten: by their schemas, for all of them alike.
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <diopigen_torch/custom.h>

#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace diopigen::backend {

namespace {

bool is_floating(const c10::IValue& value) {
    return value.isTensor() && value.toTensor().defined() && value.toTensor().is_floating_point();
}

void cast_argument(c10::IValue& value, at::ScalarType type) {
    value = at::autocast::cached_cast(type, value.toTensor(), c10::DeviceType::PrivateUse1);
}

struct Operands {
    std::vector<size_t> positions;
    bool is_half;
};

// By operator. Filled while the library loads, read afterwards.
std::map<std::string, std::vector<Operands>>& operands_by_operator() {
    static std::map<std::string, std::vector<Operands>> promotions;
    return promotions;
}

/// The widest dtype of some operands, if any is floating.
std::optional<at::ScalarType> widest_of(const torch::jit::Stack& stack, size_t begin, const Operands& operands) {
    std::optional<at::ScalarType> widest;
    for (const size_t position : operands.positions) {
        if (is_floating(stack[begin + position])) {
            const at::ScalarType type = stack[begin + position].toTensor().scalar_type();
            widest = widest.has_value() ? at::promote_types(*widest, type) : type;
        }
    }
    return widest;
}

void promote(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    const c10::impl::ExcludeDispatchKeyGuard guard(c10::DispatchKey::AutocastPrivateUse1);
    const size_t begin = stack->size() - op.schema().arguments().size();
    for (const Operands& operands : operands_by_operator().at(op.operator_name().name)) {
        std::optional<at::ScalarType> type = widest_of(*stack, begin, operands);
        if (operands.is_half && type.has_value() && *type != at::kHalf && *type != at::kBFloat16) {
            type = at::autocast::get_autocast_dtype(c10::DeviceType::PrivateUse1);
        }
        for (const size_t position : operands.positions) {
            if (is_floating((*stack)[begin + position])) {
                cast_argument((*stack)[begin + position], *type);
            }
        }
    }
    op.callBoxed(stack);
}

}  // namespace

void compute_in_float32(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    const c10::impl::ExcludeDispatchKeyGuard guard(c10::DispatchKey::AutocastPrivateUse1);
    const size_t begin = stack->size() - op.schema().arguments().size();
    const at::ScalarType type = (*stack)[begin].toTensor().scalar_type();
    for (size_t i = begin; i < stack->size(); ++i) {
        // Numbers in float64 stay what they are: only what autocast has made smaller grows.
        if (is_floating((*stack)[i]) && (*stack)[i].toTensor().scalar_type() == at::kDouble) {
            op.callBoxed(stack);
            return;
        }
    }
    for (size_t i = begin; i < stack->size(); ++i) {
        if (is_floating((*stack)[i])) {
            cast_argument((*stack)[i], at::kFloat);
        }
    }
    op.callBoxed(stack);
    for (size_t i = begin; i < stack->size(); ++i) {
        if (is_floating((*stack)[i])) {
            (*stack)[i] = (*stack)[i].toTensor().to(type);
        }
    }
}

void add_promotion(const char* name, const char* positions, bool is_half) {
    Operands operands{{}, is_half};
    std::istringstream stream(positions);
    for (size_t position = 0; stream >> position;) {
        operands.positions.push_back(position);
    }
    operands_by_operator()[std::string("diopi::") + name].push_back(std::move(operands));
}

void promote_operands(torch::Library& library, const char* name) {
    library.impl(name, torch::CppFunction::makeFromBoxedFunction<&promote>());
}

}  // namespace diopigen::backend
