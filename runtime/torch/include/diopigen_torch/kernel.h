// Entry of a kernel: the run-time switches and the CPU come before it, at the cost of one test.
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
#include <string_view>
#include <utility>

namespace diopigen::backend {

/// Set while a switch runs the kernel itself, so that the kernel does not turn to the switch again.
extern thread_local bool is_inside;

/// The call as PyTorch boxes it, handled by whatever switch asks for it.
void watch(const c10::OperatorHandle& op, torch::jit::Stack* stack);
/// The call on the CPU, counted under the name of the operator.
void fall_back(const c10::OperatorHandle& op, torch::jit::Stack* stack);
/// Why the next fall_back() of this thread is called.
void note_reason(std::string reason);
/// The call with plain tensors: those that are not are replaced by copies, and copied back where they are written.
void call_plain(const c10::OperatorHandle& op, torch::jit::Stack* stack);
/// Raises for a call that the function rejected: what the CPU raises where Python has a class for it (IndexError,
/// NotImplementedError), else `failure`.
void raise_failure(const c10::OperatorHandle& op, torch::jit::Stack* stack);
/// Exception type of the next raise_failure() of this thread.
void note_failure(const Failed& failure);

/// Returns whether a function can use the memory of a tensor as it is. Tensors that are conjugated or negated lazily,
/// or zero without memory, come here through operators such as `mm`, for which PyTorch leaves that to the kernel.
inline bool is_plain(const at::Tensor& tensor) {
    constexpr c10::DispatchKeySet kLazy{c10::DispatchKey::Conjugate, c10::DispatchKey::Negative,
                                        c10::DispatchKey::ZeroTensor};
    return !tensor.defined() || !tensor.key_set().has_any(kLazy);
}
/// The same of a tensor that is written: several of its indices may be one element (views made by `unfold` and
/// `expand`). Functions reject that, and PyTorch's operators have rules of their own.
bool writes_elements_twice(const at::Tensor& tensor);
inline bool is_plain(at::Tensor& tensor) {
    return is_plain(std::as_const(tensor)) &&
           (!tensor.defined() || tensor.is_non_overlapping_and_dense() || !writes_elements_twice(tensor));
}
inline bool is_plain(const std::optional<at::Tensor>& tensor) { return !tensor.has_value() || is_plain(*tensor); }
bool is_plain(at::TensorList tensors);
bool is_plain(const at::ITensorListRef& tensors);
bool is_plain(const c10::List<std::optional<at::Tensor>>& tensors);
template <typename Other>
bool is_plain(const Other& /*argument*/) {
    return true;
}

/// The kernel of an overload as PyTorch calls it: `body`, unless a switch wants the call, or the body falls back. One
/// class for each signature, which hundreds of overloads share: PyTorch instantiates much for each class.
template <typename Signature>
class Kernel;

template <typename Result, typename... Arguments>
class Kernel<Result(Arguments...)> {
  public:
    Kernel(const c10::OperatorHandle& op, Result (*body)(Arguments...)) : op_(op), body_(body) {}

    Result operator()(Arguments... arguments) const {
        if (C10_UNLIKELY(!(is_plain(arguments) && ...))) {
            return boxed(c10::BoxedKernel::makeFromFunction<&call_plain>(), arguments...);
        }
        if (C10_UNLIKELY(is_watched.load(std::memory_order_relaxed)) && !std::exchange(is_inside, false)) {
            return boxed(c10::BoxedKernel::makeFromFunction<&watch>(), arguments...);
        }
        bool has_failed = false;
        try {
            return body_(arguments...);
        } catch (const FallbackRequested& requested) {
            note_reason(requested.what());
        } catch (const Failed& failure) {
            note_failure(failure);
            has_failed = true;
        }
        return boxed(has_failed ? c10::BoxedKernel::makeFromFunction<&raise_failure>()
                                : c10::BoxedKernel::makeFromFunction<&fall_back>(),
                     arguments...);
    }

  private:
    [[gnu::noinline]] Result boxed(const c10::BoxedKernel& handler, Arguments... arguments) const {
        return c10::impl::BoxedKernelWrapper<Result(Arguments...)>::call(handler, op_, c10::DispatchKeySet(),
                                                                         arguments...);
    }

    c10::OperatorHandle op_;
    Result (*body_)(Arguments...);
};

/// Registers `body` for the overload `Op` (of `ATen/ops/..._ops.h`).
template <typename Signature>
void implement(torch::Library& library, const char* name, const char* overload, Signature* body) {
    const std::string own = std::string(name).substr(std::string_view(name).find("::") + 2);
    library.impl((*overload == '\0' ? own : own + "." + overload).c_str(),
                 Kernel<Signature>(c10::Dispatcher::singleton().findSchemaOrThrow(name, overload), body));
}
template <typename Op, auto* Body>
void implement(torch::Library& library) {
    implement(library, Op::name, Op::overload_name, Body);
}

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_KERNEL_H_
