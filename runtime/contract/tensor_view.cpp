#include "tensor_view.h"

#include "failure.h"

namespace diopigen::contract {

TensorView viewOf(diopiConstTensorHandle_t handle) {
    TensorView view;
    view.handle = handle;
    require(diopiGetTensorShape(handle, &view.shape), "diopiGetTensorShape");
    require(diopiGetTensorDtype(handle, &view.dtype), "diopiGetTensorDtype");
    // These functions are weak: a host may lack them.
    if (diopiGetTensorDevice != nullptr) {
        require(diopiGetTensorDevice(handle, &view.device), "diopiGetTensorDevice");
    }
    if (diopiIsTensorSparse != nullptr) {
        require(diopiIsTensorSparse(handle, &view.isSparse), "diopiIsTensorSparse");
    }
    if (!view.isSparse) {
        require(diopiGetTensorStride(handle, &view.stride), "diopiGetTensorStride");
        require(diopiGetTensorDataConst(handle, &view.data), "diopiGetTensorDataConst");
    }
    return view;
}

}  // namespace diopigen::contract
