// Copies in a memory format. The library has one format of its own: plain memory with strides, number 0.
#include <diopi/functions.h>

#include "diopi_cpu/dense.h"

using namespace diopi::cpu;

namespace {

// Room for a tensor whose dimensions lie in memory in `order`, the outermost first.
Tensor new_tensor_in(diopiContextHandle_t ctx, const Tensor& like, const std::vector<int64_t>& order) {
    std::vector<int64_t> strides(order.size());
    int64_t step = 1;
    for (size_t k = order.size(); k-- > 0;) {
        strides[order[k]] = step;
        step *= std::max<int64_t>(like.shape[order[k]], 1);
    }
    const diopiSize_t sizes{like.shape, like.rank};
    const diopiSize_t steps{strides.data(), like.rank};
    diopiTensorHandle_t handle = nullptr;
    const diopiError_t status = diopiRequireTensor(ctx, &handle, &sizes, &steps, to_public(like.dtype), like.device);
    if (status != diopiSuccess || handle == nullptr) {
        fail("parameter 'out': the host gives no tensor", status == diopiSuccess ? diopiErrorOccurred : status);
    }
    return tensor("out", handle, kAny);
}

// The rank that a format is for, or 0 for any.
int64_t rank_of(diopiMemoryFormat_t format) {
    switch (format) {
        case Contiguous:
            return 0;
        case ChannelsLast1d:
            return 3;
        case ChannelsLast:
            return 4;
        case ChannelsLast3d:
            return 5;
        default:
            fail("parameter 'memoryFormat' is no format to copy to");
    }
}

}  // namespace

DIOPI_API diopiError_t diopiContiguous(diopiContextHandle_t ctx, diopiTensorHandle_t* out,
                                       diopiConstTensorHandle_t input, diopiMemoryFormat_t memoryFormat) {
    return guarded("diopiContiguous", ctx, [&] {
        require(out != nullptr, "parameter 'out' is null");
        const Tensor input_tensor = tensor("input", input, kAny);
        const int64_t rank = rank_of(memoryFormat);
        std::vector<int64_t> order;
        for (int64_t dim = 0; dim < input_tensor.rank; ++dim) {
            if (dim != 1 || rank == 0) {
                order.push_back(dim);
            }
        }
        if (rank > 0) {
            require_rank(input_tensor, rank, rank);
            order.push_back(1);
        }
        const Tensor result = new_tensor_in(ctx, input_tensor, order);
        copy_elements(result, input_tensor);
        *out = result.handle;
    });
}

DIOPI_API diopiError_t diopiNativeMemoryFormatCast(diopiContextHandle_t ctx, diopiTensorHandle_t* out,
                                                   diopiTensorHandle_t in, int64_t format) {
    return guarded("diopiNativeMemoryFormatCast", ctx, [&] {
        require(out != nullptr, "parameter 'out' is null");
        const Tensor input = tensor("in", in, kAny);
        require(format == 0, "parameter 'format' is not 0, the only format of this library");
        const Tensor result = new_tensor(ctx, "out", shape_of(input), input.dtype, input);
        copy_elements(result, input);
        *out = result.handle;
    });
}
