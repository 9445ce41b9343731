// What shims convert with: dtypes, layouts, and results back in the tensors. Plain host code, one element at a time.

#include <diopi/functions.h>

#include <cstdint>
#include <vector>

namespace impl::camb {

namespace {

struct View {
    const void* data;
    diopiSize_t shape;
    diopiSize_t stride;
    diopiDtype_t dtype;
};

diopiError_t look(diopiConstTensorHandle_t tensor, View& view) {
    diopiError_t status = diopiGetTensorDataConst(tensor, &view.data);
    if (status == diopiSuccess) status = diopiGetTensorShape(tensor, &view.shape);
    if (status == diopiSuccess) status = diopiGetTensorStride(tensor, &view.stride);
    return status == diopiSuccess ? diopiGetTensorDtype(tensor, &view.dtype) : status;
}

template <typename Out, typename In>
void copy_elements(const View& out, const View& in) {
    Out* to = static_cast<Out*>(const_cast<void*>(out.data));
    const In* from = static_cast<const In*>(in.data);
    int64_t count = 1;
    for (int64_t dim = 0; dim < in.shape.len; ++dim) count *= in.shape.data[dim];
    for (int64_t flat = 0; flat < count; ++flat) {
        int64_t rest = flat;
        int64_t to_offset = 0;
        int64_t from_offset = 0;
        for (int64_t dim = in.shape.len - 1; dim >= 0; --dim) {
            const int64_t index = rest % in.shape.data[dim];
            rest /= in.shape.data[dim];
            to_offset += index * out.stride.data[dim];
            from_offset += index * in.stride.data[dim];
        }
        to[to_offset] = static_cast<Out>(from[from_offset]);
    }
}

template <typename Out>
diopiError_t copy_from(const View& out, const View& in) {
    switch (in.dtype) {
        case diopi_dtype_int32:
            copy_elements<Out, int32_t>(out, in);
            return diopiSuccess;
        case diopi_dtype_int64:
            copy_elements<Out, int64_t>(out, in);
            return diopiSuccess;
        case diopi_dtype_float32:
            copy_elements<Out, float>(out, in);
            return diopiSuccess;
        case diopi_dtype_float64:
            copy_elements<Out, double>(out, in);
            return diopiSuccess;
        case diopi_dtype_bool:
        case diopi_dtype_uint8:
            copy_elements<Out, uint8_t>(out, in);
            return diopiSuccess;
        default:
            return diopiDtypeNotSupported;
    }
}

diopiError_t copy(diopiTensorHandle_t target, diopiConstTensorHandle_t source) {
    View out{};
    View in{};
    diopiError_t status = look(target, out);
    if (status == diopiSuccess) status = look(source, in);
    if (status != diopiSuccess) return status;
    if (out.shape.len != in.shape.len) return diopiErrorOccurred;
    for (int64_t dim = 0; dim < in.shape.len; ++dim) {
        if (out.shape.data[dim] != in.shape.data[dim]) return diopiErrorOccurred;
    }
    switch (out.dtype) {
        case diopi_dtype_int32:
            return copy_from<int32_t>(out, in);
        case diopi_dtype_int64:
            return copy_from<int64_t>(out, in);
        case diopi_dtype_float32:
            return copy_from<float>(out, in);
        case diopi_dtype_float64:
            return copy_from<double>(out, in);
        case diopi_dtype_uint8:
            return copy_from<uint8_t>(out, in);
        case diopi_dtype_bool:
            return copy_from<bool>(out, in);
        default:
            return diopiDtypeNotSupported;
    }
}

}  // namespace

diopiError_t diopiCastDtype(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return copy(out, input);
}

diopiError_t diopiCopyInp(diopiContextHandle_t /*ctx*/, diopiConstTensorHandle_t src, diopiTensorHandle_t dest) {
    return copy(dest, src);
}

diopiError_t diopiContiguous(diopiContextHandle_t ctx, diopiTensorHandle_t* out, diopiConstTensorHandle_t input,
                             diopiMemoryFormat_t memory_format) {
    View in{};
    diopiError_t status = look(input, in);
    if (status != diopiSuccess) return status;
    std::vector<int64_t> order;  // the dimensions, the one that varies slowest first
    const int64_t rank = in.shape.len;
    const bool contiguous = memory_format == Contiguous || memory_format == Preserve;
    const bool channels_last = !contiguous && rank > 2;
    for (int64_t dim = 0; dim < rank; ++dim) {
        if (!(channels_last && dim == 1)) order.push_back(dim);
    }
    if (channels_last) order.push_back(1);
    std::vector<int64_t> strides(order.size());
    int64_t next = 1;
    for (auto dim = order.rbegin(); dim != order.rend(); ++dim) {
        strides[static_cast<size_t>(*dim)] = next;
        next *= in.shape.data[*dim];
    }
    diopiSize_t stride{strides.data(), rank};
    status = diopiRequireTensor(ctx, out, &in.shape, &stride, in.dtype, diopi_device);
    return status == diopiSuccess ? copy(*out, input) : status;
}

}  // namespace impl::camb
