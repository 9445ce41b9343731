#include <diopigen_torch/kernel.h>

#include <cstring>

#include "handlers.h"

namespace diopigen::backend {

const c10::BoxedKernel& plain_handler() {
    static const c10::BoxedKernel handler = c10::BoxedKernel::makeFromFunction<&call_plain>();
    return handler;
}

const c10::BoxedKernel& watching_handler() {
    static const c10::BoxedKernel handler = c10::BoxedKernel::makeFromFunction<&watch>();
    return handler;
}

const c10::BoxedKernel& handler_of_exception() {
    static const c10::BoxedKernel fallback = c10::BoxedKernel::makeFromFunction<&fall_back>();
    static const c10::BoxedKernel failed = c10::BoxedKernel::makeFromFunction<&raise_failure>();
    try {
        throw;
    } catch (const FallbackRequested& requested) {
        note_reason(requested.what());
        return fallback;
    } catch (const Failed& failure) {
        note_failure(failure);
        return failed;
    }
}

void KernelLibrary::add(const c10::OperatorHandle& op, c10::KernelFunction kernel,
                        const c10::impl::CppSignature& signature) {
    kernels_.push_back(c10::Dispatcher::singleton().registerImpl(op.operator_name(), key_, std::move(kernel), signature,
                                                                 /*inferred_function_schema=*/nullptr, "diopigen"));
}

c10::OperatorHandle operator_named(const char* name) {
    const char* const dot = std::strchr(name, '.');
    return dot == nullptr ? operator_named(name, "") : operator_named(std::string(name, dot).c_str(), dot + 1);
}

c10::OperatorHandle operator_named(const char* name, const char* overload) {
    return c10::Dispatcher::singleton().findSchemaOrThrow(name, overload);
}

}  // namespace diopigen::backend
