// Which tensors share memory, as contracts see it (runtime/contract/memory.h).
#include "diopi_core/tensor.h"
#include "memory.h"

namespace diopigen::core {

namespace contract = ::diopigen::contract;

namespace {

// Empty for a null tensor, which shares nothing.
contract::TensorView view_of(const Tensor& tensor) {
    contract::TensorView view;
    view.handle = tensor.handle;
    view.dtype = to_public(tensor.dtype);
    view.shape = {tensor.shape, tensor.rank};
    view.stride = {tensor.strides, tensor.rank};
    view.data = tensor.data;
    return view;
}

}  // namespace

void require_disjoint(const Tensor& written, const Tensor& other) {
    if (contract::shares_memory(view_of(written), view_of(other))) {
        fail(std::string("parameters '") + written.name + "' and '" + other.name + "' share memory");
    }
}

}  // namespace diopigen::core
