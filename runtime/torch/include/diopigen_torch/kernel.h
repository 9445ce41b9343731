// How a kernel is entered: the run-time switches and the CPU come before it, at the cost of one test.
#ifndef DIOPIGEN_TORCH_KERNEL_H_
#define DIOPIGEN_TORCH_KERNEL_H_

#include <ATen/MemoryOverlap.h>
#include <ATen/core/IListRef.h>
#include <ATen/core/List.h>
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
/// The call with plain tensors: those that are not are replaced by copies, and copied back where they are written.
void callPlain(const c10::OperatorHandle& op, torch::jit::Stack* stack);
/// Raises for a call that the function rejected: what the CPU raises if that is an IndexError, else `failure`.
void raiseFailure(const c10::OperatorHandle& op, torch::jit::Stack* stack);
/// What the next raiseFailure() of this thread raises.
void noteFailure(const Failed& failure);

/// Whether a function can use the memory of a tensor as it is. Tensors that are conjugated or negated lazily, or zero
/// without memory, come here through operators such as `mm`, for which PyTorch leaves that to the kernel.
inline bool isPlain(const at::Tensor& tensor) {
    constexpr c10::DispatchKeySet kLazy{c10::DispatchKey::Conjugate, c10::DispatchKey::Negative,
                                        c10::DispatchKey::ZeroTensor};
    return !tensor.defined() || !tensor.key_set().has_any(kLazy);
}
/// The same of a tensor that is written: several of its indices may be one element (views made by `unfold` and
/// `expand`). Functions reject that, and PyTorch's operators have rules of their own.
bool writesElementsTwice(const at::Tensor& tensor);
inline bool isPlain(at::Tensor& tensor) {
    return isPlain(std::as_const(tensor)) &&
           (!tensor.defined() || tensor.is_non_overlapping_and_dense() || !writesElementsTwice(tensor));
}
inline bool isPlain(const std::optional<at::Tensor>& tensor) { return !tensor.has_value() || isPlain(*tensor); }
bool isPlain(at::TensorList tensors);
bool isPlain(const at::ITensorListRef& tensors);
bool isPlain(const c10::List<std::optional<at::Tensor>>& tensors);
template <typename Other>
bool isPlain(const Other& /*argument*/) {
    return true;
}

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
        if (C10_UNLIKELY(!(isPlain(arguments) && ...))) {
            return Boxed<&callPlain, Result(Arguments...)>::call(op(), arguments...);
        }
        if (C10_UNLIKELY(isWatched.load(std::memory_order_relaxed)) && !std::exchange(isInside, false)) {
            return Boxed<&watch, Result(Arguments...)>::call(op(), arguments...);
        }
        bool hasFailed = false;
        try {
            return Body(arguments...);
        } catch (const FallbackRequested& requested) {
            noteReason(requested.what());
        } catch (const Failed& failure) {
            noteFailure(failure);
            hasFailed = true;
        }
        return hasFailed ? Boxed<&raiseFailure, Result(Arguments...)>::call(op(), arguments...)
                         : Boxed<&fallBack, Result(Arguments...)>::call(op(), arguments...);
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
