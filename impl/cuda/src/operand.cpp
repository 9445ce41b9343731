#include "diopi_cuda/operand.h"

#include <cstdlib>
#include <string>

namespace diopigen::cuda {

void require_on_device(const Tensor& tensor) {
    if (!tensor.is_null() && tensor.numel > 0 && tensor.device != diopi_device) {
        fail(std::string("parameter '") + tensor.name + "' is on the host, where kernels do not reach");
    }
}

Divider::Divider(int64_t divisor) {
    if (divisor == 0) {  // of no elements, which are never read
        return;
    }
    if (divisor > kMaxShort) {  // no number is as large
        factor_ = 0;
        shift_ = 31;
        return;
    }
    divisor_ = static_cast<uint32_t>(divisor);
    while ((uint64_t{1} << shift_) < divisor_) {
        ++shift_;
    }
    factor_ = static_cast<uint32_t>((((uint64_t{1} << shift_) - divisor_) << 32) / divisor_ + 1);
}

namespace {

// The dimensions of `result` that have more than one position, from the one with the widest strides where that is asked
// for; how many.
int ordered(const Tensor& result, Order order, int64_t* dims) {
    int count = 0;
    for (int64_t d = 0; d < result.rank; ++d) {
        if (result.shape[d] == 1) {
            continue;
        }
        int at = count++;
        const auto is_narrower = [&](int64_t other) {
            return std::abs(result.strides[other]) < std::abs(result.strides[d]);
        };
        for (; order == Order::kMemory && at > 0 && is_narrower(dims[at - 1]); --at) {
            dims[at] = dims[at - 1];
        }
        dims[at] = d;
    }
    return count;
}

// The stride in bytes of a tensor along a dimension of the result; 0 where it is broadcast.
int64_t stride_of(const Tensor& tensor, const Tensor& result, int64_t dim) {
    const int64_t own = dim - (result.rank - tensor.rank);
    return own < 0 || tensor.shape[own] == 1 ? 0 : tensor.strides[own] * size_of(tensor.dtype);
}

}  // namespace

Dims walk(const Tensor& result, const Tensor* const* tensors, Operand* operands, int count, Order order) {
    int64_t from[kMaxRank];
    const int rank = ordered(result, order, from);
    for (int k = 0; k < count; ++k) {
        operands[k].data = static_cast<char*>(tensors[k]->data);
        operands[k].dtype = tensors[k]->dtype;
        operands[k].element = static_cast<int>(size_of(tensors[k]->dtype));
    }
    Dims dims;
    int64_t inside = 0;  // elements in the dimensions from the current one that become one
    for (int i = 0; i < rank; ++i) {
        const int64_t size = result.shape[from[i]];
        inside = inside == 0 ? size : inside * size;
        bool merges = i + 1 < rank;  // with the next
        for (int k = 0; merges && k < count; ++k) {
            const int64_t next = stride_of(*tensors[k], result, from[i + 1]);
            merges = stride_of(*tensors[k], result, from[i]) == next * result.shape[from[i + 1]];
        }
        if (merges) {
            continue;
        }
        if (dims.rank == kMaxDims) {
            fail(std::string("parameter '") + result.name + "' has more than " + std::to_string(kMaxDims) +
                 " dimensions that are not contiguous");
        }
        for (int k = 0; k < count; ++k) {
            operands[k].strides[dims.rank] = stride_of(*tensors[k], result, from[i]);
        }
        dims.append(inside);
        inside = 0;
    }
    for (int k = 0; k < count; ++k) {
        operands[k].is_linear = dims.rank == 0 || (dims.rank == 1 && operands[k].strides[0] == operands[k].element);
    }
    return dims;
}

}  // namespace diopigen::cuda
