// A reference library for the tests of the dispatch library: a few operators over tensors of any strides, and no
// device of its own.
#include <diopi/functions.h>

#include <cmath>
#include <cstdint>
#include <vector>

namespace {

const char* lastError = "";

struct View {
    explicit View(diopiConstTensorHandle_t tensor) {
        const void* start = nullptr;
        diopiGetTensorDataConst(tensor, &start);
        data = static_cast<char*>(const_cast<void*>(start));
        diopiGetTensorShape(tensor, &shape);
        diopiGetTensorStride(tensor, &stride);
        diopiGetTensorDtype(tensor, &dtype);
        diopiGetTensorNumel(tensor, &numel);
    }
    template <typename T>
    T& at(int64_t linear) const {
        int64_t offset = 0;
        for (int64_t d = shape.len; d-- > 0;) {
            offset += linear % shape.data[d] * stride.data[d];
            linear /= shape.data[d];
        }
        return reinterpret_cast<T*>(data)[offset];
    }
    char* data;
    diopiSize_t shape;
    diopiSize_t stride;
    diopiDtype_t dtype;
    int64_t numel;
};

template <typename Function>
diopiError_t map(diopiTensorHandle_t out, diopiConstTensorHandle_t input, Function function) {
    const View to(out);
    const View from(input);
    for (int64_t i = 0; i < from.numel; ++i) {
        if (from.dtype == diopi_dtype_float64) {
            to.at<double>(i) = function(from.at<double>(i));
        } else if (from.dtype == diopi_dtype_float32) {
            to.at<float>(i) = static_cast<float>(function(from.at<float>(i)));
        } else {
            lastError = "the reference has no such dtype";
            return diopiDtypeNotSupported;
        }
    }
    return diopiSuccess;
}

}  // namespace

extern "C" {

// Must never be called: a reference library registers no device.
int32_t initLibrary(void) { return 77; }
const char* diopiGetLastErrorString() { return lastError; }

diopiError_t diopiNeg(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map(out, input, [](double x) { return -x; });
}
diopiError_t diopiExp(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map(out, input, [](double x) { return std::exp(x); });
}
diopiError_t diopiSqrt(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map(out, input, [](double x) { return std::sqrt(x); });
}
diopiError_t diopiFloor(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return map(out, input, [](double x) { return std::floor(x); });
}
// Each element gets the next one of the input, which is the output's own memory when they are views of one storage.
diopiError_t diopiAbs(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    const View to(out);
    const View from(input);
    for (int64_t i = 0; i < from.numel; ++i) {
        to.at<float>(i) = std::fabs(from.at<float>(i));
    }
    return diopiSuccess;
}
diopiError_t diopiAbsInp(diopiContextHandle_t ctx, diopiTensorHandle_t input) { return diopiAbs(ctx, input, input); }
diopiError_t diopiCat(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t* tensors,
                      int64_t num_inputs, int64_t) {
    const View to(out);
    int64_t next = 0;
    for (int64_t k = 0; k < num_inputs; ++k) {
        const View from(tensors[k]);
        for (int64_t i = 0; i < from.numel; ++i) {
            to.at<float>(next++) = from.at<float>(i);
        }
    }
    return diopiSuccess;
}
diopiError_t diopiEqual(diopiContextHandle_t, bool* out, diopiConstTensorHandle_t input,
                        diopiConstTensorHandle_t other) {
    const View a(input);
    const View b(other);
    *out = a.numel == b.numel;
    for (int64_t i = 0; *out && i < a.numel; ++i) {
        *out = a.at<float>(i) == b.at<float>(i);
    }
    return diopiSuccess;
}
namespace {

diopiError_t positions(diopiContextHandle_t ctx, diopiTensorHandle_t* out, diopiConstTensorHandle_t input) {
    const View from(input);
    std::vector<int64_t> found;
    for (int64_t i = 0; i < from.numel; ++i) {
        if (from.at<float>(i) != 0) {
            found.push_back(i);
        }
    }
    diopiDevice_t device;
    diopiGetTensorDevice(input, &device);
    const int64_t shape[] = {static_cast<int64_t>(found.size()), 1};
    const diopiSize_t size = {shape, 2};
    const diopiError_t status = diopiRequireTensor(ctx, out, &size, nullptr, diopi_dtype_int64, device);
    void* data = nullptr;
    if (status == diopiSuccess) {
        diopiGetTensorData(*out, &data);
        for (size_t i = 0; i < found.size(); ++i) {
            static_cast<int64_t*>(data)[i] = found[i];
        }
    }
    return status;
}

}  // namespace
diopiError_t diopiNonzero(diopiContextHandle_t ctx, diopiTensorHandle_t* out, diopiConstTensorHandle_t input) {
    return positions(ctx, out, input);
}
diopiError_t diopiMaskedSelect(diopiContextHandle_t ctx, diopiTensorHandle_t* out, diopiConstTensorHandle_t input,
                               diopiConstTensorHandle_t) {
    return positions(ctx, out, input);
}

}  // extern "C"
