#include <cstring>
#include <utility>

#include "cheat.h"

// The functions of a library that passes, under other names.
extern "C" {
diopiError_t rightRelu(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input);
diopiError_t rightLogicalNot(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input);
diopiError_t rightSoftmax(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                          int64_t dim);
}

namespace cheat {

diopiError_t Call::right() const {
    if (std::strcmp(function, "Relu") == 0) return rightRelu(nullptr, out, input);
    if (std::strcmp(function, "LogicalNot") == 0) return rightLogicalNot(nullptr, out, input);
    return rightSoftmax(nullptr, out, input, dim);
}

Elements::Elements(diopiConstTensorHandle_t tensor) {
    diopiSize_t shape, stride;
    const void* data = nullptr;
    if (tensor == nullptr || diopiGetTensorShape(tensor, &shape) != diopiSuccess ||
        diopiGetTensorStride(tensor, &stride) != diopiSuccess ||
        diopiGetTensorElemSize(tensor, &size_) != diopiSuccess ||
        diopiGetTensorDataConst(tensor, &data) != diopiSuccess || data == nullptr) {
        return;
    }
    addresses_ = {static_cast<char*>(const_cast<void*>(data))};
    for (int64_t dim = 0; dim < shape.len; ++dim) {
        std::vector<char*> next;
        for (char* address : addresses_) {
            for (int64_t index = 0; index < shape.data[dim]; ++index) {
                next.push_back(address + index * stride.data[dim] * size_);
            }
        }
        addresses_ = std::move(next);
    }
}

std::vector<char> Elements::read() const {
    std::vector<char> bytes;
    for (const char* address : addresses_) bytes.insert(bytes.end(), address, address + size_);
    return bytes;
}

void Elements::write(const std::vector<char>& bytes) const {
    const size_t size = static_cast<size_t>(size_);
    for (size_t index = 0; index < addresses_.size() && (index + 1) * size <= bytes.size(); ++index) {
        std::memcpy(addresses_[index], bytes.data() + index * size, size);
    }
}

__attribute__((weak)) diopiError_t called(const Call&) { return diopiSuccess; }
__attribute__((weak)) int32_t started() { return 0; }
__attribute__((weak)) int32_t finalized() { return 0; }
__attribute__((weak)) const char* vendor() { return "cheat"; }
__attribute__((weak)) const char* version() { return "1.0"; }
__attribute__((weak)) const char* errorText() { return ""; }

static diopiError_t counted(const char* function, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                            int64_t dim) {
    static int calls = 0;
    return called({function, calls++, out, input, dim});
}

}  // namespace cheat

extern "C" {
diopiError_t diopiRelu(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return cheat::counted("Relu", out, input, 0);
}
diopiError_t diopiLogicalNot(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input) {
    return cheat::counted("LogicalNot", out, input, 0);
}
diopiError_t diopiSoftmax(diopiContextHandle_t, diopiTensorHandle_t out, diopiConstTensorHandle_t input, int64_t dim) {
    return cheat::counted("Softmax", out, input, dim);
}
int32_t initLibrary() { return cheat::started(); }
int32_t finalizeLibrary() { return cheat::finalized(); }
const char* diopiGetVendorName() { return cheat::vendor(); }
const char* diopiGetImplVersion() { return cheat::version(); }
const char* diopiGetLastErrorString() { return cheat::errorText(); }
}
