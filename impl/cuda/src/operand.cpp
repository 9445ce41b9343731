#include "diopi_cuda/operand.h"

#include <string>
#include <vector>

namespace diopi::cuda {

void require_on_device(const Tensor& tensor) {
    if (!tensor.is_null() && tensor.numel > 0 && tensor.device != diopi_device) {
        fail(std::string("parameter '") + tensor.name + "' lies on the host, where kernels do not reach");
    }
}

Dims walk(const Tensor& result, const Tensor* const* tensors, Operand* operands, int count) {
    // Strides in bytes along the dimensions of the result; 0 where a tensor is broadcast.
    std::vector<std::vector<int64_t>> steps(static_cast<size_t>(count));
    for (int k = 0; k < count; ++k) {
        const Tensor& tensor = *tensors[k];
        Operand& operand = operands[k];
        operand.data = static_cast<char*>(tensor.data);
        operand.dtype = tensor.dtype;
        operand.element = static_cast<int>(size_of(tensor.dtype));
        steps[k].assign(static_cast<size_t>(result.rank), 0);
        for (int64_t i = 1; i <= tensor.rank; ++i) {
            const bool repeats = tensor.shape[tensor.rank - i] == 1;
            steps[k][result.rank - i] = repeats ? 0 : tensor.strides[tensor.rank - i] * operand.element;
        }
    }
    Dims dims;
    int64_t last = -1;  // the dimension of the result that the innermost one so far came from
    for (int64_t d = 0; d < result.rank; ++d) {
        const int64_t size = result.shape[d];
        if (size == 1) {
            continue;
        }
        bool is_merged = last >= 0;
        for (int k = 0; is_merged && k < count; ++k) {
            is_merged = steps[k][last] == steps[k][d] * size;
        }
        if (!is_merged && dims.rank == kMaxDims) {
            fail(std::string("parameter '") + result.name + "' has more than " + std::to_string(kMaxDims) +
                 " dimensions that do not lie side by side");
        }
        dims.rank += is_merged ? 0 : 1;
        dims.sizes[dims.rank - 1] = is_merged ? dims.sizes[dims.rank - 1] * size : size;
        for (int k = 0; k < count; ++k) {
            operands[k].steps[dims.rank - 1] = steps[k][d];
        }
        last = d;
    }
    for (int k = 0; k < count; ++k) {
        operands[k].is_linear = dims.rank == 0 || (dims.rank == 1 && operands[k].steps[0] == operands[k].element);
    }
    return dims;
}

}  // namespace diopi::cuda
