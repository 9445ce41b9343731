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
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace diopigen::backend {

/// Set while a switch runs the kernel itself, so that the kernel does not turn to the switch again.
extern thread_local bool is_inside;

/// The call on the CPU, counted under the name of the operator.
void fall_back(const c10::OperatorHandle& op, torch::jit::Stack* stack);
/// Why the next fall_back() of this thread is called.
void note_reason(std::string reason);

/// Handlers of calls that the body of a kernel does not finish: for tensors that it cannot use as they are, for
/// switches, and for the exception that is being handled. The latter raises the exception again if it is another one.
const c10::BoxedKernel& plain_handler();
const c10::BoxedKernel& watching_handler();
const c10::BoxedKernel& handler_of_exception();

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
class Kernel<Result(Arguments...)> final : public c10::OperatorKernel {
  public:
    Kernel(const c10::OperatorHandle& op, Result (*body)(Arguments...)) : op_(op), body_(body) {}

    Result operator()(Arguments... arguments) const {
        if (C10_UNLIKELY(!(is_plain(arguments) && ...))) {
            return boxed(plain_handler(), arguments...);
        }
        if (C10_UNLIKELY(is_watched.load(std::memory_order_relaxed)) && !std::exchange(is_inside, false)) {
            return boxed(watching_handler(), arguments...);
        }
        const c10::BoxedKernel* handler = nullptr;
        try {
            return body_(arguments...);
        } catch (...) {
            handler = &handler_of_exception();
        }
        return boxed(*handler, arguments...);
    }

  private:
    [[gnu::noinline, gnu::cold]] Result boxed(const c10::BoxedKernel& handler, Arguments... arguments) const {
        return c10::impl::BoxedKernelWrapper<Result(Arguments...)>::call(handler, op_, c10::DispatchKeySet(),
                                                                         arguments...);
    }

    c10::OperatorHandle op_;
    Result (*body_)(Arguments...);
};

/// Kernels of a dispatch key, as long as it lives. A torch::Library would infer a schema from each signature, in more
/// code than the kernels are; signatures are compared with those of the operator's other kernels.
class KernelLibrary {
  public:
    KernelLibrary(c10::DispatchKey key, void (*implement_all)(KernelLibrary&)) : key_(key) { implement_all(*this); }

    /// Registers `kernel`, an Adapter, whose call operator has this signature.
    template <typename Adapter, typename Signature>
    void add(const c10::OperatorHandle& op, Adapter* kernel, Signature* /*body*/) {
        add(op,
            c10::KernelFunction::makeFromUnboxedFunctor<false, Adapter>(std::unique_ptr<c10::OperatorKernel>(kernel)),
            c10::impl::CppSignature::make<Signature>());
    }

  private:
    void add(const c10::OperatorHandle& op, c10::KernelFunction kernel, const c10::impl::CppSignature& signature);

    c10::DispatchKey key_;
    std::vector<c10::RegistrationHandleRAII> kernels_;
};

/// The operator of a name such as `aten::add.out`. Throws where there is none.
c10::OperatorHandle operator_named(const char* name);
c10::OperatorHandle operator_named(const char* name, const char* overload);

/// Registers `body` for the overload `Op` (of `ATen/ops/..._ops.h`).
template <typename Signature>
void implement(KernelLibrary& library, const char* name, const char* overload, Signature* body) {
    const c10::OperatorHandle op = operator_named(name, overload);
    library.add(op, new Kernel<Signature>(op, body), body);
}
template <typename Op, auto* Body>
void implement(KernelLibrary& library) {
    implement(library, Op::name, Op::overload_name, Body);
}

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_KERNEL_H_
