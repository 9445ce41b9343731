// Kinds of tensors that the device does not compute with: nested and quantized ones are rejected where they would be
// made on the device, or by the first operator on one; sparse ones by the operators that it lacks. Each in a sentence.
#include <ATen/OpMathType.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/TypeProperties.h>
#include <ATen/ops/_nested_tensor_from_tensor_list_native.h>
#include <ATen/ops/_to_copy_native.h>
#include <ATen/ops/addr_native.h>
#include <c10/core/DeviceType.h>
#include <c10/util/Exception.h>
#include <diopigen_torch/call.h>
#include <diopigen_torch/device.h>
#include <diopigen_torch/fallback.h>
#include <torch/library.h>

#include <set>
#include <string>
#include <vector>

namespace diopigen::backend {

namespace {

[[noreturn]] void reject(const std::string& op, const char* kind) {
    TORCH_CHECK_NOT_IMPLEMENTED(false, op, ": ", c10::get_privateuse1_backend(), " does not compute with ", kind,
                                " tensors: keep them on the CPU, or make them dense");
}

[[noreturn]] void reject(const c10::OperatorHandle& op, const char* kind) { reject(overload_name(op), kind); }

// The layout of the first sparse tensor among the arguments; strided where there is none.
at::Layout sparse_layout(const torch::jit::Stack& stack, size_t arguments) {
    for (const c10::IValue& value : torch::jit::last(stack, arguments)) {
        if (value.isTensor() && value.toTensor().defined() && value.toTensor().layout() != at::kStrided) {
            return value.toTensor().layout();
        }
        for (const at::Tensor& tensor : value.isTensorList() ? value.toTensorVector() : std::vector<at::Tensor>()) {
            if (tensor.defined() && tensor.layout() != at::kStrided) {
                return tensor.layout();
            }
        }
    }
    return at::kStrided;
}

// Supported functions of a layout, and the alternative to the others.
const char* advice(at::Layout layout) {
    switch (layout) {
        case at::kSparse:
            return "it has products and sums of them, make them dense with to_dense() or move them to the CPU with "
                   "cpu()";
        case at::kSparseCsr:
        case at::kSparseCsc:
            return "it has their products with dense ones, make them dense with to_dense() or move them to the CPU "
                   "with "
                   "cpu()";
        default:
            return "move them to the CPU with cpu()";
    }
}

void reject_sparse(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
    const at::Layout layout = sparse_layout(*stack, op.schema().arguments().size());
    TORCH_CHECK_NOT_IMPLEMENTED(false, overload_name(op), ": ", c10::get_privateuse1_backend(),
                                " does not compute this with sparse tensors of layout ", layout, ": ", advice(layout));
}

// Views that PyTorch makes by strides, which compressed matrices do not have. They have kernels for every backend.
bool is_view_by_strides(const std::string& name) {
    static const std::set<std::string> names = {
        "aten::diagonal", "aten::expand",           "aten::permute", "aten::select",    "aten::slice", "aten::split",
        "aten::squeeze",  "aten::split_with_sizes", "aten::unbind",  "aten::unsqueeze", "aten::view",
    };
    return names.count(name) != 0;
}

void reject_quantized(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* /*stack*/) {
    reject(op, "quantized");
}

void reject_nested(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* /*stack*/) {
    reject(op, "nested");
}

// nn.TransformerEncoder makes nested tensors where all padding is on the right: with this answer they stay dense.
bool is_left_aligned(const at::Tensor& /*tensor*/, const at::Tensor& /*mask*/) { return false; }

at::Tensor nested_from_mask(const at::Tensor& /*tensor*/, const at::Tensor& /*mask*/, bool /*checks_mask*/) {
    TORCH_CHECK_NOT_IMPLEMENTED(false, "_nested_tensor_from_mask: ", c10::get_privateuse1_backend(),
                                " does not compute with nested tensors: make nn.TransformerEncoder with "
                                "enable_nested_tensor=False");
}

bool is_here(std::optional<at::Device> device) { return device.has_value() && device->type() == kDeviceType; }

at::Tensor nested_to_copy(const at::Tensor& self, std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                          std::optional<at::Device> device, std::optional<bool> pinned, bool is_asynchronous,
                          std::optional<at::MemoryFormat> format) {
    if (is_here(device)) {
        reject("to", "nested");
    }
    return at::native::_to_copy_nested(self, dtype, layout, device, pinned, is_asynchronous, format);
}

at::Tensor nested_from_list(at::TensorList list, std::optional<at::ScalarType> dtype, std::optional<at::Layout> layout,
                            std::optional<at::Device> device, std::optional<bool> pinned) {
    if (is_here(device) || is_here(list.front().device())) {
        reject("nested_tensor", "nested");
    }
    return at::native::_nested_tensor_from_tensor_list(list, dtype, layout, device, pinned);
}

// Nested tensors of the CPU reach the device in PyTorch's own kernel for nested tensors of the CPU, before an operator
// of the device could reject them. It is replaced, which PyTorch would report.
struct Silence : c10::WarningHandler {
    void process(const c10::Warning& /*warning*/) override {}
};

const bool kNestedGuarded = [] {
    Silence silence;
    const c10::WarningUtils::WarningHandlerGuard guard(&silence);
    static torch::Library library(torch::Library::IMPL, "aten", c10::DispatchKey::NestedTensorCPU, __FILE__, __LINE__);
    library.impl("_to_copy", nested_to_copy);
    return true;
}();

TORCH_LIBRARY_IMPL(aten, CPU, library) { library.impl("_nested_tensor_from_tensor_list", nested_from_list); }

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) { library.impl("_nested_tensor_from_tensor_list", nested_from_list); }

void require_factor(at::ScalarType type, const at::Scalar& factor, const char* name) {
    TORCH_CHECK(!factor.isBoolean() || type == at::kBool, "Boolean ", name, " only supported for Boolean results.");
    TORCH_CHECK(at::isFloatingType(type) || at::isComplexType(type) || factor.isIntegral(/*includeBool=*/true),
                "For integral input tensors, argument ", name, " must not be a floating point number.");
    require_fits(at::toOpMathType(type), factor);
}

// The kernel for every backend lacks these checks of those for the CPU and CUDA.
at::Tensor addr(const at::Tensor& self, const at::Tensor& vec1, const at::Tensor& vec2, const at::Scalar& beta,
                const at::Scalar& alpha) {
    const at::ScalarType type = at::native::result_type({self, vec1, vec2});
    require_factor(type, beta, "beta");
    require_factor(type, alpha, "alpha");
    return at::native::math_addr(self, vec1, vec2, beta, alpha);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) { library.impl("addr", addr); }

// Kernels for every backend that read memory as that of the host.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
    for (const char* const name :
         {"_saturate_weight_to_fp16", "choose_qparams_optimized", "fbgemm_linear_fp16_weight",
          "fbgemm_linear_fp16_weight_fp32_activation", "fbgemm_linear_int8_weight",
          "fbgemm_linear_int8_weight_fp32_activation", "fbgemm_linear_quantize_weight", "fbgemm_pack_gemm_matrix_fp16",
          "fbgemm_pack_quantized_matrix", "fbgemm_pack_quantized_matrix.KN"}) {
        library.impl(name, torch::CppFunction::makeFromBoxedFunction<&reject_quantized>());
    }
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
    library.impl("_nested_tensor_from_mask_left_aligned", is_left_aligned);
    library.impl("_nested_tensor_from_mask", nested_from_mask);
}

TORCH_LIBRARY_IMPL(_, SparsePrivateUse1, library) {
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&reject_sparse>());
}

TORCH_LIBRARY_IMPL(_, SparseCsrPrivateUse1, library) {
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&reject_sparse>());
}

TORCH_LIBRARY_IMPL(_, QuantizedPrivateUse1, library) {
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&reject_quantized>());
}

TORCH_LIBRARY_IMPL(_, NestedTensorPrivateUse1, library) {
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&reject_nested>());
}

}  // namespace

void reject_composed_for_compressed() {
    constexpr c10::DispatchKey kKey = c10::DispatchKey::SparseCsrPrivateUse1;
    static torch::Library library(torch::Library::IMPL, "aten", kKey, __FILE__, __LINE__);
    c10::Dispatcher& dispatcher = c10::Dispatcher::singleton();
    const auto reject = [&](const c10::OperatorName& name) {
        const std::optional<c10::OperatorHandle> op = dispatcher.findOp(name);
        if (name.getNamespace() == "aten" && op.has_value() && !op->hasKernelForDispatchKey(kKey)) {
            library.impl(overload_name(*op).c_str(), torch::CppFunction::makeFromBoxedFunction<&reject_sparse>());
        }
    };
    using Key = c10::DispatchKey;
    for (const auto& name : dispatcher.getRegistrationsForDispatchKey(Key::CompositeExplicitAutogradNonFunctional)) {
        reject(name);
    }
    for (const auto& name : dispatcher.getRegistrationsForDispatchKey(Key::CompositeExplicitAutograd)) {
        if (is_view_by_strides(name.name)) {
            reject(name);
        }
    }
}

}  // namespace diopigen::backend
