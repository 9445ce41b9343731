// Handles of diopirt under PyTorch: a context is one call, a tensor is an at::Tensor.
#ifndef DIOPIGEN_TORCH_CONTEXT_H_
#define DIOPIGEN_TORCH_CONTEXT_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <diopi/diopirt.h>
#include <diopigen_torch/dtypes.h>

#include <list>

/// Lives as long as a call of an operator; its tensors go with it.
struct diopiContext {
    c10::DeviceIndex device = 0;
    /// A tensor that nothing has been written to, for a function that allocates its result: diopiRequireTensor returns
    /// it where it is what the function asks for, once. Null for none.
    at::Tensor* result = nullptr;
    /// Temporaries that operators requested. A list, since handles are addresses.
    std::list<at::Tensor> temporaries;
};

namespace diopigen::backend {

inline diopiTensorHandle_t handle(at::Tensor& tensor) { return reinterpret_cast<diopiTensorHandle_t>(&tensor); }
inline diopiConstTensorHandle_t handle(const at::Tensor& tensor) {
    return reinterpret_cast<diopiConstTensorHandle_t>(&tensor);
}
inline at::Tensor& tensor_of(diopiTensorHandle_t handle) { return *reinterpret_cast<at::Tensor*>(handle); }
inline const at::Tensor& tensor_of(diopiConstTensorHandle_t handle) {
    return *reinterpret_cast<const at::Tensor*>(handle);
}

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_CONTEXT_H_
