// diopiRelu for host memory, in one file: what docs/machine-written-kernels.md sends to `diopigen serve`.
#include <diopi/functions.h>

#include <cstdint>
#include <cstring>

namespace {

struct Tensor {
    char* data;
    diopiSize_t shape;
    diopiSize_t stride;
    diopiDtype_t dtype;

    explicit Tensor(diopiConstTensorHandle_t handle) {
        const void* address = nullptr;
        diopiGetTensorDataConst(handle, &address);
        data = static_cast<char*>(const_cast<void*>(address));
        diopiGetTensorShape(handle, &shape);
        diopiGetTensorStride(handle, &stride);
        diopiGetTensorDtype(handle, &dtype);
    }

    int64_t elements() const {
        int64_t count = 1;
        for (int64_t d = 0; d < shape.len; ++d) count *= shape.data[d];
        return count;
    }

    // The offset, in elements, of the element at a position in row-major order.
    int64_t offset(int64_t position) const {
        int64_t found = 0;
        for (int64_t d = shape.len - 1; d >= 0; --d) {
            found += position % shape.data[d] * stride.data[d];
            position /= shape.data[d];
        }
        return found;
    }

    int64_t span(int64_t itemsize) const { return (elements() == 0 ? 0 : offset(elements() - 1) + 1) * itemsize; }
};

// NaN is not below zero, and stays.
bool isNegative(uint16_t bits, uint16_t infinity) { return (bits & 0x8000) != 0 && (bits & 0x7fff) <= infinity; }

template <typename T, typename IsNegative>
diopiError_t relu(const Tensor& out, const Tensor& input, IsNegative negative) {
    const int64_t size = sizeof(T);
    const bool same = out.data == input.data && out.span(size) == input.span(size);
    const bool apart = out.data + out.span(size) <= input.data || input.data + input.span(size) <= out.data;
    if (!same && !apart) return diopiErrorOccurred;  // an output that overlaps the input in part
    for (int64_t i = 0; i < input.elements(); ++i) {
        T value;
        std::memcpy(&value, input.data + input.offset(i) * size, sizeof(T));
        if (negative(value)) value = T{};
        std::memcpy(out.data + out.offset(i) * size, &value, sizeof(T));
    }
    return diopiSuccess;
}

template <typename T>
diopiError_t relu(const Tensor& out, const Tensor& input) {
    return relu<T>(out, input, [](T value) { return value < T{}; });
}

}  // namespace

extern "C" {

const char* diopiGetVendorName(void) { return "example"; }
const char* diopiGetImplVersion(void) { return "1"; }

diopiError_t diopiRelu(diopiContextHandle_t, diopiTensorHandle_t out_handle, diopiConstTensorHandle_t input_handle) {
    if (out_handle == nullptr || input_handle == nullptr) return diopiErrorOccurred;
    const Tensor out(out_handle), input(input_handle);
    if (out.dtype != input.dtype) return diopiDtypeNotSupported;
    if (out.shape.len != input.shape.len) return diopiErrorOccurred;
    for (int64_t d = 0; d < out.shape.len; ++d) {
        if (out.shape.data[d] != input.shape.data[d]) return diopiErrorOccurred;
    }
    switch (input.dtype) {
        case diopi_dtype_uint8:
            return relu<uint8_t>(out, input);
        case diopi_dtype_int8:
            return relu<int8_t>(out, input);
        case diopi_dtype_int16:
            return relu<int16_t>(out, input);
        case diopi_dtype_int32:
            return relu<int32_t>(out, input);
        case diopi_dtype_int64:
            return relu<int64_t>(out, input);
        case diopi_dtype_float32:
            return relu<float>(out, input);
        case diopi_dtype_float64:
            return relu<double>(out, input);
        case diopi_dtype_float16:
            return relu<uint16_t>(out, input, [](uint16_t b) { return isNegative(b, 0x7c00); });
        case diopi_dtype_bfloat16:
            return relu<uint16_t>(out, input, [](uint16_t b) { return isNegative(b, 0x7f80); });
        default:
            return diopiDtypeNotSupported;
    }
}

}  // extern "C"
