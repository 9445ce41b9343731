// The functions of diopigen/host.h that the dispatch library and shims use, over at::Tensor.
#include <ATen/core/Tensor.h>
#include <c10/core/StorageImpl.h>
#include <diopigen/host.h>
#include <diopigen_torch/capture.h>
#include <diopigen_torch/context.h>
#include <diopigen_torch/device.h>

#include <algorithm>
#include <string>

#include "failure.h"
#include "handles.h"

namespace diopigen::backend {

namespace {

c10::Device device_of(diopiDevice_t device, c10::DeviceIndex index) {
    return device == diopi_host ? c10::Device(c10::kCPU) : c10::Device(kDeviceType, index);
}

// A tensor over a storage: sizes, strides and offset as they are.
at::Tensor over(c10::Storage storage, at::IntArrayRef size, at::IntArrayRef stride, int64_t offset, at::ScalarType type,
                c10::Device device) {
    const auto key = device.is_cpu() ? c10::DispatchKey::CPU : c10::DispatchKey::PrivateUse1;
    at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(key),
                                                                 c10::scalarTypeToTypeMeta(type));
    tensor.unsafeGetTensorImpl()->set_sizes_and_strides(size, stride, offset);
    return tensor;
}

// Returns whether the elements are without gaps with the channels last, for any rank from 3.
bool is_channels_last(const at::Tensor& tensor) {
    const int64_t rank = tensor.dim();
    int64_t expected = 1;
    for (int64_t location = 0; location < rank; ++location) {
        const int64_t dimension = location == 0 ? 1 : location == rank - 1 ? 0 : rank - location;
        if (tensor.size(dimension) != 1) {
            if (tensor.stride(dimension) != expected) {
                return false;
            }
            expected *= tensor.size(dimension);
        }
    }
    return true;
}

}  // namespace

}  // namespace diopigen::backend

using diopigen::fail;
using diopigen::guarded;
using diopigen::require_not_null;
namespace backend = diopigen::backend;

uint32_t diopiHostDescribeTensor(diopiConstTensorHandle_t th) {
    if (th == nullptr || backend::tensor_of(th).layout() != at::kStrided) {
        return 1U << 31;
    }
    const at::Tensor& tensor = backend::tensor_of(th);
    const auto rank = static_cast<uint32_t>(tensor.dim());
    uint32_t word = static_cast<uint32_t>(backend::dtype_of(tensor.scalar_type())) | rank << 8;
    const bool is_empty = tensor.numel() == 0;
    word |= is_empty || tensor.is_contiguous() ? 1U << 16 : 0;
    word |= rank >= 3 && (is_empty || backend::is_channels_last(tensor)) ? 1U << 17 : 0;
    return word;
}

diopiError_t diopiHostInspectTensor(diopiConstTensorHandle_t th, const void** data, diopiSize_t* size,
                                    diopiSize_t* stride, int64_t* element_size, diopiDtype_t* dtype,
                                    diopiDevice_t* device, bool* is_sparse) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        const at::Tensor& tensor = backend::tensor_of(th);
        *is_sparse = tensor.layout() != at::kStrided;
        *data = *is_sparse ? nullptr : tensor.const_data_ptr();
        *size = backend::sizes_of(tensor.sizes());
        *stride = *is_sparse ? diopiSize_t{nullptr, 0} : backend::sizes_of(tensor.strides());
        *element_size = static_cast<int64_t>(tensor.element_size());
        *dtype = backend::dtype_of(tensor.scalar_type());
        *device = tensor.is_cpu() ? diopi_host : diopi_device;
    });
}

diopiError_t diopiHostSynchronize(diopiContextHandle_t ctx) {
    return guarded(__func__, [&] {
        require_not_null(ctx, "ctx");
        backend::synchronize(backend::current_stream(ctx->device));
    });
}

diopiError_t diopiHostReleaseTemporary(diopiContextHandle_t ctx, diopiTensorHandle_t tensor) {
    return guarded(__func__, [&] {
        require_not_null(ctx, "ctx");
        require_not_null(tensor, "tensor");
        const at::Tensor* const address = &backend::tensor_of(tensor);
        ctx->temporaries.remove_if([&](const at::Tensor& one) { return &one == address; });
    });
}

diopiError_t diopiHostWrapMemory(diopiContextHandle_t ctx, diopiTensorHandle_t* tensor, void* data, uint64_t bytes,
                                 const diopiSize_t* size, const diopiSize_t* stride, int64_t storage_offset,
                                 diopiDtype_t dtype, diopiDevice_t device) {
    return guarded(__func__, [&] {
        require_not_null(ctx, "ctx");
        require_not_null(tensor, "tensor");
        require_not_null(size, "size");
        require_not_null(stride, "stride");
        const c10::Device location = backend::device_of(device, ctx->device);
        c10::Storage storage(c10::Storage::use_byte_size_t(), static_cast<size_t>(bytes), c10::DataPtr(data, location));
        *tensor = backend::handle(
            *new at::Tensor(backend::over(std::move(storage), backend::array_of(*size), backend::array_of(*stride),
                                          storage_offset, backend::scalar_type_of(dtype), location)));
    });
}

diopiError_t diopiHostCreateView(diopiTensorHandle_t* tensor, diopiConstTensorHandle_t base, const diopiSize_t* size,
                                 const diopiSize_t* stride, int64_t storage_offset, diopiDtype_t dtype) {
    return guarded(__func__, [&] {
        require_not_null(tensor, "tensor");
        require_not_null(size, "size");
        require_not_null(stride, "stride");
        const at::Tensor& whole = backend::dense(base);
        *tensor = backend::handle(
            *new at::Tensor(backend::over(whole.storage(), backend::array_of(*size), backend::array_of(*stride),
                                          storage_offset, backend::scalar_type_of(dtype), whole.device())));
    });
}

diopiError_t diopiHostCreateSparseCsr(diopiTensorHandle_t* tensor, const diopiSize_t* size,
                                      diopiConstTensorHandle_t crow_indices, diopiConstTensorHandle_t col_indices,
                                      diopiConstTensorHandle_t values) {
    return guarded(__func__, [&] {
        require_not_null(tensor, "tensor");
        require_not_null(size, "size");
        *tensor = backend::handle(*new at::Tensor(
            at::detail::make_tensor<backend::CompressedRows>(backend::dense(crow_indices), backend::dense(col_indices),
                                                             backend::dense(values), backend::array_of(*size))));
    });
}

diopiError_t diopiHostDestroyTensor(diopiTensorHandle_t tensor) {
    return guarded(__func__, [&] {
        require_not_null(tensor, "tensor");
        delete &backend::tensor_of(tensor);
    });
}

namespace {

void require_bytes(const at::Tensor& tensor, uint64_t bytes) {
    if (tensor.storage().nbytes() != bytes) {
        fail("parameter 'bytes' is " + std::to_string(bytes) + ", the storage has " +
             std::to_string(tensor.storage().nbytes()) + " bytes");
    }
}

}  // namespace

diopiError_t diopiHostCopyToStorage(diopiContextHandle_t ctx, diopiTensorHandle_t tensor, const void* source,
                                    uint64_t bytes) {
    return guarded(__func__, [&] {
        require_not_null(ctx, "ctx");
        const at::Tensor& target = backend::dense(tensor);
        require_bytes(target, bytes);
        void* const data = target.storage().mutable_data();
        if (target.is_cpu()) {
            std::copy_n(static_cast<const char*>(source), bytes, static_cast<char*>(data));
            return;
        }
        backend::require_no_capture(backend::current_handle(ctx->device), "a function that runs on the CPU");
        backend::copy_to_device(backend::current_handle(ctx->device), data, source, bytes);
        backend::synchronize(backend::current_stream(ctx->device));
    });
}

diopiError_t diopiHostCopyFromStorage(diopiContextHandle_t ctx, diopiConstTensorHandle_t tensor, void* destination,
                                      uint64_t bytes) {
    return guarded(__func__, [&] {
        require_not_null(ctx, "ctx");
        const at::Tensor& source = backend::dense(tensor);
        require_bytes(source, bytes);
        const void* const data = source.storage().data();
        if (source.is_cpu()) {
            std::copy_n(static_cast<const char*>(data), bytes, static_cast<char*>(destination));
            return;
        }
        backend::require_no_capture(backend::current_handle(ctx->device), "a function that runs on the CPU");
        backend::copy_to_host(backend::current_handle(ctx->device), destination, data, bytes);
        backend::synchronize(backend::current_stream(ctx->device));
    });
}

diopiError_t diopiHostGetLastErrorText(const char** text) {
    return guarded(__func__, [&] {
        require_not_null(text, "text");
        *text = diopigen::last_error_text();
    });
}
