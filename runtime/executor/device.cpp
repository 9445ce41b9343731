#include "device.h"

namespace diopigen::executor {

Device::Device(const Runtime& runtime, std::int32_t byte_dtype) : runtime_(runtime), byte_dtype_(byte_dtype) {
    runtime_.require(runtime_.diopiHostCreateContext(&context_), "diopiHostCreateContext");
    const std::int64_t bytes = 16;
    const diopiSize_t size{&bytes, 1};
    diopiTensorHandle_t probe = nullptr;
    is_accelerator_ =
        runtime_.diopiHostCreateTensor(context_, &probe, &size, nullptr, 0, static_cast<diopiDtype_t>(byte_dtype),
                                       diopi_device) == diopiSuccess;
    if (is_accelerator_) {
        runtime_.require(runtime_.diopiHostDestroyTensor(probe), "diopiHostDestroyTensor");
    }
}

Device::~Device() {
    if (context_ != nullptr) {
        runtime_.diopiHostDestroyContext(context_);
    }
}

void Device::close() {
    diopiContextHandle_t const context = context_;
    context_ = nullptr;
    runtime_.require(runtime_.diopiHostDestroyContext(context), "diopiHostDestroyContext");
}

void Device::free_temporaries() {
    std::int64_t count = 0;
    runtime_.require(runtime_.diopiHostGetTemporaryCount(context_, &count), "diopiHostGetTemporaryCount");
    if (count > 0) {
        close();
        runtime_.require(runtime_.diopiHostCreateContext(&context_), "diopiHostCreateContext");
    }
}

diopiTensorHandle_t Device::created(const std::vector<std::int64_t>& shape, const diopiSize_t* strides,
                                    std::int32_t dtype, bool on_host) const {
    const diopiSize_t size = size_of(shape);
    const diopiDevice_t device = is_accelerator_ && !on_host ? diopi_device : diopi_host;
    diopiTensorHandle_t handle = nullptr;
    runtime_.require(
        runtime_.diopiHostCreateTensor(context_, &handle, &size, strides, 0, static_cast<diopiDtype_t>(dtype), device),
        "diopiHostCreateTensor");
    return handle;
}

void Device::copy_to(diopiTensorHandle_t storage, const char* from, std::uint64_t bytes) const {
    runtime_.require(runtime_.diopiHostCopyToStorage(context_, storage, from, bytes), "diopiHostCopyToStorage");
}

void Device::copy_from(diopiConstTensorHandle_t storage, std::uint64_t bytes, Writer& answer) const {
    runtime_.require(runtime_.diopiHostCopyFromStorage(context_, storage, answer.room(bytes), bytes),
                     "diopiHostCopyFromStorage");
}

}  // namespace diopigen::executor
