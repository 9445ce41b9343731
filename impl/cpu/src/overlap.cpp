// Which tensors share memory, as contracts see it (runtime/contract/memory.h).
#include "diopi_cpu/tensor.h"
#include "memory.h"

namespace diopi::cpu {

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

void require_no_overlap(const Tensor& written) {
    if (contract::overlapsItself(view_of(written))) {
        fail(std::string("parameter '") + written.name + "' has elements that share memory");
    }
}

void require_disjoint(const Tensor& written, const Tensor& other) {
    if (contract::sharesMemory(view_of(written), view_of(other))) {
        fail(std::string("parameters '") + written.name + "' and '" + other.name + "' share memory");
    }
}

void require_no_overlap(const Tensor& written, const Tensor& other) {
    const contract::TensorView a = view_of(written);
    const contract::TensorView b = view_of(other);
    if (contract::sharesMemory(a, b) && !contract::hasSameElements(a, b)) {
        fail(std::string("parameters '") + written.name + "' and '" + other.name +
             "' overlap in memory without being the same elements");
    }
}

}  // namespace diopi::cpu
