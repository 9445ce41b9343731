// Copies in a memory format. The library has one format of its own: plain memory with strides, number 0.
#include "diopi_core/dense.h"
#include "shape.h"

using namespace diopigen::core;

namespace {

// Room for a tensor whose dimensions are laid out in memory in `order`, the outermost first.
Tensor new_tensor_in(diopiContextHandle_t ctx, const Tensor& like, const std::vector<int64_t>& order) {
    std::vector<int64_t> strides(order.size());
    int64_t next = 1;
    for (size_t k = order.size(); k-- > 0;) {
        strides[order[k]] = next;
        next *= std::max<int64_t>(like.shape[order[k]], 1);
    }
    const diopiSize_t sizes{like.shape, like.rank};
    const diopiSize_t layout{strides.data(), like.rank};
    diopiTensorHandle_t handle = nullptr;
    const diopiError_t status = diopiRequireTensor(ctx, &handle, &sizes, &layout, to_public(like.dtype), like.device);
    if (status != diopiSuccess || handle == nullptr) {
        fail("parameter 'out': the host gives no tensor", status == diopiSuccess ? diopiErrorOccurred : status);
    }
    return tensor("out", handle, kAny);
}

bool has_channels_last(diopiMemoryFormat_t format) {
    switch (format) {
        case Contiguous:
            return false;
        case ChannelsLast1d:
        case ChannelsLast:
        case ChannelsLast3d:
            return true;
        default:
            fail("'memoryFormat' is no format to copy to");
    }
}

}  // namespace

void diopigen::entry::contiguous(const ContiguousArgs& args) {
    const bool is_last = has_channels_last(args.memoryFormat);
    std::vector<int64_t> order;
    for (int64_t dim = 0; dim < args.input.rank; ++dim) {
        if (dim != 1 || !is_last) {
            order.push_back(dim);
        }
    }
    if (is_last) {
        order.push_back(1);
    }
    const Tensor result = new_tensor_in(args.ctx, args.input, order);
    copy_elements(result, args.input);
    *args.out = result.handle;
}

void diopigen::entry::native_memory_format_cast(const NativeMemoryFormatCastArgs& args) {
    require(args.format == 0, "C1: format is a number that the library knows");
    const Tensor result = new_tensor(args.ctx, "out", shape_of(args.in), args.in.dtype, args.in);
    copy_elements(result, args.in);
    *args.out = result.handle;
}
