#include "tensor_view.h"

#include "failure.h"

namespace diopigen::contract {

TensorView view_of(diopiConstTensorHandle_t handle) {
    TensorView view;
    view.handle = handle;
    require(diopiGetTensorShape(handle, &view.shape), "diopiGetTensorShape");
    require(diopiGetTensorDtype(handle, &view.dtype), "diopiGetTensorDtype");
    // These functions are weak: a host may lack them.
    if (diopiGetTensorDevice != nullptr) {
        require(diopiGetTensorDevice(handle, &view.device), "diopiGetTensorDevice");
    }
    if (diopiIsTensorSparse != nullptr) {
        require(diopiIsTensorSparse(handle, &view.is_sparse), "diopiIsTensorSparse");
    }
    if (!view.is_sparse) {
        require(diopiGetTensorStride(handle, &view.stride), "diopiGetTensorStride");
        require(diopiGetTensorDataConst(handle, &view.data), "diopiGetTensorDataConst");
    }
    return view;
}

}  // namespace diopigen::contract
