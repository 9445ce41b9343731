// Operators that run on the CPU: through copies, counted by name.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/native/CPUFallback.h>
#include <diopigen_torch/fallback.h>
#include <diopigen_torch/kernel.h>

#include <map>
#include <mutex>

namespace diopigen::backend {

namespace {

struct Counts {
    std::mutex mutex;
    std::map<std::string, int64_t> byOverload;
};

Counts& counts() {
    static auto* const made = new Counts;
    return *made;
}

std::string nameOf(const c10::OperatorHandle& op) {
    std::string name = op.operator_name().name;
    name = name.substr(name.find("::") + 2);
    return op.operator_name().overload_name.empty() ? name : name + "." + op.operator_name().overload_name;
}

// A generator of the CPU that starts where the device's one is; the device's one moves on, so that the next call draws
// other numbers.
at::Generator onCpu(const at::Generator& generator) {
    c10::GeneratorImpl* const own = generator.unsafeGetGeneratorImpl();
    const std::lock_guard<std::mutex> lock(own->mutex_);
    const uint64_t offset = own->get_offset();
    // The golden ratio keeps the sequences of neighbouring offsets apart.
    at::Generator made = at::detail::createCPUGenerator(own->current_seed() ^ (offset * 0x9E3779B97F4A7C15ULL));
    own->set_offset(offset + 4);
    return made;
}

// Generators of the device cannot be used by kernels of the CPU.
void translateGenerators(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    const auto& arguments = op.schema().arguments();
    const size_t first = stack->size() - arguments.size();
    for (size_t i = 0; i < arguments.size(); ++i) {
        c10::IValue& value = (*stack)[first + i];
        const auto type = arguments[i].type();
        const bool isGenerator =
            type->kind() == c10::TypeKind::GeneratorType ||
            (type->kind() == c10::TypeKind::OptionalType &&
             type->castRaw<c10::OptionalType>()->getElementType()->kind() == c10::TypeKind::GeneratorType);
        if (!isGenerator) {
            continue;
        }
        if (value.isNone()) {
            value = onCpu(defaultGenerator(currentDevice()));
        } else if (value.toGenerator().device().type() == kDeviceType) {
            value = onCpu(value.toGenerator());
        }
    }
}

void fallBackBoxed(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
    if (C10_UNLIKELY(isWatched.load(std::memory_order_relaxed)) && !isInside) {
        watch(op, stack);
        return;
    }
    fallBack(op, stack);
}

}  // namespace

void fallBack(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    isInside = false;
    {
        const std::lock_guard<std::mutex> lock(counts().mutex);
        ++counts().byOverload[nameOf(op)];
    }
    translateGenerators(op, stack);
    at::native::cpu_fallback(op, stack, /*error_on_views=*/true);
}

std::map<std::string, int64_t> fallbackCounts() {
    const std::lock_guard<std::mutex> lock(counts().mutex);
    return counts().byOverload;
}

void resetFallbackCounts() {
    const std::lock_guard<std::mutex> lock(counts().mutex);
    counts().byOverload.clear();
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&fallBackBoxed>());
}

}  // namespace diopigen::backend
