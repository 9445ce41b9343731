#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <diopigen_torch/custom.h>

#include "devices.h"

namespace diopigen::backend {

c10::SymInt size_of(const at::Tensor& tensor, const char* name, int64_t rank, int64_t dimension) {
    TORCH_CHECK(tensor.dim() == rank, name, " must have ", rank, " dimensions, but has ", tensor.dim());
    return tensor.sym_size(dimension);
}

c10::SymInt size_of_at_least(const at::Tensor& tensor, const char* name, int64_t rank, int64_t dimension) {
    TORCH_CHECK(tensor.dim() >= rank, name, " must have at least ", rank, " dimensions, but has ", tensor.dim());
    return tensor.sym_size(dimension);
}

Sizes sizes_of(const at::Tensor& tensor) { return tensor.sym_sizes().vec(); }

c10::SymInt quotient(const c10::SymInt& dividend, const c10::SymInt& divisor) {
    TORCH_CHECK(divisor >= 1, "a stride or a number of groups must be at least 1, but is ", divisor);
    return dividend / divisor;
}

at::Tensor make_empty(const at::Tensor& like, at::ScalarType type, const Sizes& sizes) {
    return at::empty_symint(sizes, like.options().dtype(type));
}

at::Tensor make_zeros(const at::Tensor& like, at::ScalarType type, const Sizes& sizes) {
    return at::zeros_symint(sizes, like.options().dtype(type));
}

const at::Tensor& first_of(at::TensorList tensors) {
    TORCH_CHECK(!tensors.empty(), "a list of tensors must have at least one");
    return tensors.front();
}

Written::Written(const Call& call, const at::Tensor& tensor) {
    const c10::Device here(kDeviceType, call.device());
    if (tensor.device() != here) {
        reject_devices(here, tensor.device());
    }
    handle_ = handle(const_cast<at::Tensor&>(tensor));
}

Written::Written(const Call& call, const std::optional<at::Tensor>& tensor) {
    if (tensor.has_value() && tensor->defined()) {
        handle_ = Written(call, *tensor).handle_;
    }
}

c10::OperatorHandle custom_operator(const char* name) {
    return operator_named((std::string("diopi::") + name).c_str(), "");
}

void raise_for_custom(const char* name) {
    try {
        throw;
    } catch (const FallbackRequested& requested) {
        TORCH_CHECK_NOT_IMPLEMENTED(false, "diopi::", name, ": ", requested.what(), "; there is no kernel for the CPU");
    } catch (const Failed& failure) {
        failure.raise((std::string("diopi::") + name).c_str(), "");
    }
}

}  // namespace diopigen::backend
