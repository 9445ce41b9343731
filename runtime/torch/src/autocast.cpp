// torch.autocast: which operators compute in the dtype that it chooses, and which in float32. The lists are PyTorch's
// own, as for CUDA.
#include <ATen/Operators.h>
#include <ATen/autocast_mode.h>
#include <diopigen_torch/kernel.h>
#include <diopigen_torch/release.h>

namespace diopigen::backend {

namespace {

at::Tensor reject_binary_cross_entropy(const at::Tensor& /*self*/, const at::Tensor& /*target*/,
                                       const std::optional<at::Tensor>& /*weight*/, int64_t /*reduction*/) {
    TORCH_CHECK(false,
                "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast: use "
                "torch.nn.functional.binary_cross_entropy_with_logits or torch.nn.BCEWithLogitsLoss, which combine "
                "them with a sigmoid and are safe");
}

/// A function as a kernel.
template <typename Result, typename... Arguments>
class Wrapped final : public c10::OperatorKernel {
  public:
    explicit Wrapped(Result (*function)(Arguments...)) : function_(function) {}

    Result operator()(Arguments... arguments) const { return function_(std::forward<Arguments>(arguments)...); }

  private:
    Result (*function_)(Arguments...);
};

/// Registers what the macros of autocast_mode.h hand to a library.
class Registrar {
  public:
    explicit Registrar(KernelLibrary& library) : library_(library) {}

    template <typename Result, typename... Arguments>
    void impl(const char* name, Result (*function)(Arguments...)) {
        library_.add(operator_named(name), new Wrapped<Result, Arguments...>(function), function);
    }

  private:
    KernelLibrary& library_;
};

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, library) { library.fallback(torch::CppFunction::makeFallthrough()); }

// The macros of autocast_mode.h name types of at, and register into `m`.
using at::IntArrayRef;
using at::Scalar;
using at::ScalarType;
using at::Tensor;

const KernelLibrary kAutocast(c10::DispatchKey::AutocastPrivateUse1, [](KernelLibrary& library) {
    Registrar m(library);
#define DIOPIGEN_LOWER(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
    AT_FORALL_LOWER_PRECISION_FP(DIOPIGEN_LOWER)
#undef DIOPIGEN_LOWER
#define DIOPIGEN_FLOAT32(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
    AT_FORALL_FP32(DIOPIGEN_FLOAT32)
#undef DIOPIGEN_FLOAT32
#define DIOPIGEN_FLOAT32_DTYPE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
    AT_FORALL_FP32_SET_OPT_DTYPE(DIOPIGEN_FLOAT32_DTYPE)
#undef DIOPIGEN_FLOAT32_DTYPE
    // For CUDA these are called with the dtype of the result as an argument; the interface's norm has none.
    KERNEL_PRIVATEUSEONE(norm, Scalar, fp32)
    KERNEL_PRIVATEUSEONE(norm, ScalarOpt_dim, fp32)
#if DIOPIGEN_TORCH_SINCE(2, 14)  // CUDA has it, and the macros have not
    KERNEL_PRIVATEUSEONE(linalg_matrix_sqrth, fp32)
#endif
#define DIOPIGEN_PROMOTE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
    AT_FORALL_PROMOTE(DIOPIGEN_PROMOTE)
#undef DIOPIGEN_PROMOTE
    m.impl("aten::binary_cross_entropy", &reject_binary_cross_entropy);
});

}  // namespace

}  // namespace diopigen::backend
