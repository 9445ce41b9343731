// The functions of the interface as compiled graphs call them: by a pointer and a trampoline that unpacks operands.
#ifndef DIOPIGEN_TORCH_COMPILED_H_
#define DIOPIGEN_TORCH_COMPILED_H_

#include <ATen/core/Tensor.h>
#include <diopigen_torch/context.h>

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace diopigen::backend {

/// One argument of a function. Tensors, numbers behind pointers and texts outlive the call.
union Operand {
    at::Tensor* tensor;
    const void* pointer;
    int64_t integer;
    double real;
    diopiSize_t sizes;
};

using AnyFunction = void (*)();
using Trampoline = diopiError_t (*)(diopiContextHandle_t, const Operand*, AnyFunction);

/// A function that compiled graphs call; `function` is null where the vendor lacks it.
struct CompiledFunction {
    const char* name;
    AnyFunction function;
    Trampoline trampoline;
    /// A letter for each parameter (`letter`).
    std::string kinds;
};

/// Conversion from a value of the plan to a parameter.
template <typename Type>
constexpr char letter() {
    if constexpr (std::is_same_v<Type, diopiTensorHandle_t>) {
        return 'o';  // a tensor that is written
    } else if constexpr (std::is_same_v<Type, diopiConstTensorHandle_t>) {
        return 't';
    } else if constexpr (std::is_same_v<Type, diopiConstTensorHandle_t*> ||
                         std::is_same_v<Type, diopiTensorHandle_t*>) {
        return 'l';  // an array of tensors
    } else if constexpr (std::is_same_v<std::remove_const_t<std::remove_pointer_t<Type>>, diopiScalar_t>) {
        return 's';
    } else if constexpr (std::is_same_v<Type, diopiSize_t>) {
        return 'z';
    } else if constexpr (std::is_same_v<std::remove_const_t<std::remove_pointer_t<Type>>, diopiSize_t>) {
        return 'Z';  // sizes that may be missing
    } else if constexpr (std::is_same_v<Type, diopiGeneratorHandle_t>) {
        return 'g';  // the device's own
    } else if constexpr (std::is_same_v<Type, diopiRoundMode_t>) {
        return 'r';
    } else if constexpr (std::is_same_v<Type, const char*>) {
        return 'c';
    } else if constexpr (std::is_same_v<Type, const int64_t*>) {
        return 'I';
    } else if constexpr (std::is_same_v<Type, const double*>) {
        return 'D';
    } else if constexpr (std::is_same_v<Type, const bool*>) {
        return 'B';
    } else if constexpr (std::is_floating_point_v<Type>) {
        return 'd';
    } else {
        static_assert(std::is_integral_v<Type> || std::is_enum_v<Type>, "a parameter that plans cannot have");
        return 'i';
    }
}

template <typename Type>
Type unpacked(const Operand& operand) {
    constexpr char kKind = letter<Type>();
    if constexpr (kKind == 'o' || kKind == 't') {
        return reinterpret_cast<Type>(operand.tensor);
    } else if constexpr (kKind == 'z') {
        return operand.sizes;
    } else if constexpr (kKind == 'd') {
        return static_cast<Type>(operand.real);
    } else if constexpr (kKind == 'i' || kKind == 'r') {
        return static_cast<Type>(operand.integer);
    } else {
        return static_cast<Type>(const_cast<void*>(operand.pointer));
    }
}

template <typename... Parameters, size_t... Indices>
diopiError_t call_unpacked(diopiContextHandle_t ctx, const Operand* operands, AnyFunction function,
                           std::index_sequence<Indices...> /*indices*/) {
    const auto typed = reinterpret_cast<diopiError_t (*)(diopiContextHandle_t, Parameters...)>(function);
    return typed(ctx, unpacked<Parameters>(operands[Indices])...);
}

/// One for each signature.
template <typename... Parameters>
diopiError_t trampoline(diopiContextHandle_t ctx, const Operand* operands, AnyFunction function) {
    return call_unpacked<Parameters...>(ctx, operands, function, std::index_sequence_for<Parameters...>());
}

template <typename... Parameters>
CompiledFunction compiled(const char* name, diopiError_t (*function)(diopiContextHandle_t, Parameters...)) {
    return {name, reinterpret_cast<AnyFunction>(function), &trampoline<Parameters...>,
            std::string{letter<std::remove_cv_t<Parameters>>()...}};
}

/// The function of a name; null where compiled graphs do not call it. Generated.
const CompiledFunction* compiled_function(std::string_view name);
/// Bindings of overloads of ATen to functions: lines of JSON, which the planner reads. Generated.
std::string_view compiled_bindings();
/// The kernels of those functions that are expressions over elements: lines of JSON with C++ text. Generated.
std::string_view compiled_kernels();

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_COMPILED_H_
