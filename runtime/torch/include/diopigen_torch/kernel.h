// How a kernel is entered: the run-time switches and the CPU come before it, at the cost of one test.
#ifndef DIOPIGEN_TORCH_KERNEL_H_
#define DIOPIGEN_TORCH_KERNEL_H_

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <diopigen_torch/call.h>
#include <torch/library.h>

#include <atomic>
#include <string>
#include <utility>

namespace diopigen::backend {

/// Set while a switch runs the kernel itself, so that the kernel does not turn to the switch again.
extern thread_local bool isInside;

/// The call as PyTorch boxes it, handled by whatever switch asks for it.
void watch(const c10::OperatorHandle& op, torch::jit::Stack* stack);
/// The call on the CPU, counted under the name of the operator.
void fallBack(const c10::OperatorHandle& op, torch::jit::Stack* stack);
/// Why the next fallBack() of this thread is called.
void noteReason(std::string reason);

template <void (*Handler)(const c10::OperatorHandle&, torch::jit::Stack*), typename Signature>
struct Boxed;

template <void (*Handler)(const c10::OperatorHandle&, torch::jit::Stack*), typename Result, typename... Arguments>
struct Boxed<Handler, Result(Arguments...)> {
    static Result call(const c10::OperatorHandle& op, Arguments... arguments) {
        return c10::impl::BoxedKernelWrapper<Result(Arguments...)>::call(c10::BoxedKernel::makeFromFunction<Handler>(),
                                                                         op, c10::DispatchKeySet(), arguments...);
    }
};

/// A kernel of the overload `Op` (of `ATen/ops/..._ops.h`): `body`, unless a switch wants the call, or the body
/// falls back. A class of its own for each kernel keeps the handle of the operator.
template <typename Op, typename Signature, Signature* Body>
struct Kernel;

template <typename Op, typename Result, typename... Arguments, Result (*Body)(Arguments...)>
struct Kernel<Op, Result(Arguments...), Body> {
    static const c10::OperatorHandle& op() {
        static const c10::OperatorHandle handle =
            c10::Dispatcher::singleton().findSchemaOrThrow(Op::name, Op::overload_name);
        return handle;
    }

    static Result run(Arguments... arguments) {
        if (C10_UNLIKELY(isWatched.load(std::memory_order_relaxed)) && !std::exchange(isInside, false)) {
            return Boxed<&watch, Result(Arguments...)>::call(op(), arguments...);
        }
        try {
            return Body(arguments...);
        } catch (const FallbackRequested& requested) {
            noteReason(requested.what());
        } catch (const Failed& failure) {
            failure.raise(Op::name, Op::overload_name);
        }
        return Boxed<&fallBack, Result(Arguments...)>::call(op(), arguments...);
    }
};

/// Registers `body` for the overload `Op`.
template <typename Op, auto* Body>
void implement(torch::Library& library) {
    std::string name = Op::name;
    name = name.substr(name.find("::") + 2);
    if (*Op::overload_name != '\0') {
        name += std::string(".") + Op::overload_name;
    }
    using Signature = std::remove_pointer_t<decltype(Body)>;
    library.impl(name.c_str(), TORCH_FN((Kernel<Op, Signature, Body>::run)));
}

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_KERNEL_H_
