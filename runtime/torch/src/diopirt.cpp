// The functions of diopirt.h over at::Tensor.
#include <ATen/EmptyTensor.h>
#include <diopigen_torch/allocator.h>
#include <diopigen_torch/capture.h>
#include <diopigen_torch/context.h>
#include <diopigen_torch/device.h>
#include <diopigen_torch/generator.h>

#include <string>
#include <utility>

#include "failure.h"
#include "handles.h"

namespace diopigen::backend {

namespace {

c10::DeviceIndex index_of(const at::Tensor& tensor) { return tensor.is_cpu() ? current_device() : tensor.get_device(); }

}  // namespace

at::ScalarType scalar_type_of(diopiDtype_t dtype) {
    for (const detail::ScalarTypeOfDtype& one : detail::kScalarTypes) {
        if (one.dtype == dtype) {
            return one.type;
        }
    }
    throw Failure(diopiDtypeNotSupported, "PyTorch has no dtype " + std::to_string(dtype));
}

}  // namespace diopigen::backend

using diopigen::fail;
using diopigen::guarded;
using diopigen::require_not_null;
namespace backend = diopigen::backend;

diopiError_t diopiGetTensorData(diopiTensorHandle_t th, void** data) {
    return guarded(__func__, [&] {
        const at::Tensor& tensor = backend::dense(th);
        // The memory of a device may be written although the tensor is seen as const; PyTorch counts versions above.
        *data = tensor.unsafeGetTensorImpl()->mutable_data();
    });
}

diopiError_t diopiGetTensorDataConst(diopiConstTensorHandle_t th, const void** data) {
    return guarded(__func__, [&] { *data = backend::dense(th).const_data_ptr(); });
}

diopiError_t diopiGetTensorShape(diopiConstTensorHandle_t th, diopiSize_t* size) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        *size = backend::sizes_of(backend::tensor_of(th).sizes());
    });
}

diopiError_t diopiGetTensorStride(diopiConstTensorHandle_t th, diopiSize_t* stride) {
    return guarded(__func__, [&] { *stride = backend::sizes_of(backend::dense(th).strides()); });
}

diopiError_t diopiGetTensorDtype(diopiConstTensorHandle_t th, diopiDtype_t* dtype) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        *dtype = backend::dtype_of(backend::tensor_of(th).scalar_type());
    });
}

diopiError_t diopiGetTensorDevice(diopiConstTensorHandle_t th, diopiDevice_t* device) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        *device = backend::tensor_of(th).is_cpu() ? diopi_host : diopi_device;
    });
}

diopiError_t diopiGetTensorNumel(diopiConstTensorHandle_t th, int64_t* numel) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        *numel = backend::tensor_of(th).numel();
    });
}

diopiError_t diopiGetTensorElemSize(diopiConstTensorHandle_t th, int64_t* itemsize) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        *itemsize = static_cast<int64_t>(backend::tensor_of(th).element_size());
    });
}

diopiError_t diopiGetTensorStoragePtr(diopiConstTensorHandle_t th, void** pStoragePtr) {
    return guarded(__func__, [&] { *pStoragePtr = backend::dense(th).storage().mutable_data(); });
}

diopiError_t diopiGetTensorStorageOffset(diopiConstTensorHandle_t th, int64_t* pOffset) {
    return guarded(__func__, [&] { *pOffset = backend::dense(th).storage_offset(); });
}

diopiError_t diopiGetTensorStorageNbytes(diopiConstTensorHandle_t th, size_t* pNbytes) {
    return guarded(__func__, [&] { *pNbytes = backend::dense(th).storage().nbytes(); });
}

diopiError_t diopiGetTensorDeviceIndex(diopiConstTensorHandle_t th, diopiDeviceIndex_t* pDevIndex) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        *pDevIndex = static_cast<diopiDeviceIndex_t>(backend::index_of(backend::tensor_of(th)));
    });
}

diopiError_t diopiGetTensorCrowIndices(diopiConstTensorHandle_t th, diopiConstTensorHandle_t* crow_indices) {
    return guarded(__func__, [&] { *crow_indices = backend::handle(backend::sparse(th).starts()); });
}

diopiError_t diopiGetTensorColIndices(diopiConstTensorHandle_t th, diopiConstTensorHandle_t* col_indices) {
    return guarded(__func__, [&] { *col_indices = backend::handle(backend::sparse(th).columns()); });
}

diopiError_t diopiGetTensorValues(diopiConstTensorHandle_t th, diopiConstTensorHandle_t* values) {
    return guarded(__func__, [&] { *values = backend::handle(backend::sparse(th).values()); });
}

diopiError_t diopiIsTensorSparse(diopiConstTensorHandle_t th, bool* is_sparse) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        *is_sparse = backend::tensor_of(th).layout() != at::kStrided;
    });
}

diopiError_t diopiGetCurrentDeviceIndex(diopiDeviceIndex_t* pDevIndex) {
    return guarded(__func__, [&] { *pDevIndex = static_cast<diopiDeviceIndex_t>(backend::current_device()); });
}

diopiError_t diopiGetStream(diopiContextHandle_t ctx, diopiStreamHandle_t* stream) {
    return guarded(__func__, [&] {
        require_not_null(ctx, "ctx");
        *stream = backend::current_handle(ctx->device);
    });
}

diopiError_t diopiRequireTensor(diopiContextHandle_t ctx, diopiTensorHandle_t* tensor, const diopiSize_t* size,
                                const diopiSize_t* stride, const diopiDtype_t dtype, const diopiDevice_t device) {
    return guarded(__func__, [&] {
        require_not_null(ctx, "ctx");
        require_not_null(tensor, "tensor");
        require_not_null(size, "size");
        const bool has_stride = stride != nullptr && stride->data != nullptr;
        if (has_stride && stride->len != size->len) {
            fail("parameter 'stride' has " + std::to_string(stride->len) + " dimensions, 'size' has " +
                 std::to_string(size->len));
        }
        const at::ScalarType type = backend::scalar_type_of(dtype);
        if (ctx->result != nullptr && device != diopi_host && !has_stride && ctx->result->scalar_type() == type &&
            ctx->result->sizes() == backend::array_of(*size) && ctx->result->is_contiguous()) {
            *tensor = backend::handle(*std::exchange(ctx->result, nullptr));
            return;
        }
        const c10::DispatchKeySet key(device == diopi_host ? c10::DispatchKey::CPU : c10::DispatchKey::PrivateUse1);
        c10::Allocator* const allocator =
            device == diopi_host ? c10::GetAllocator(c10::kCPU) : &backend::device_allocator();
        ctx->temporaries.emplace_back(
            has_stride ? at::detail::empty_strided_generic(backend::array_of(*size), backend::array_of(*stride),
                                                           allocator, key, type)
                       : at::detail::empty_generic(backend::array_of(*size), allocator, key, type, std::nullopt));
        *tensor = backend::handle(ctx->temporaries.back());
    });
}

diopiError_t diopiRequireBuffer(diopiContextHandle_t ctx, diopiTensorHandle_t* tensor, int64_t num_bytes,
                                diopiDevice_t device) {
    const diopiSize_t size{&num_bytes, 1};
    return diopiRequireTensor(ctx, tensor, &size, nullptr, diopi_dtype_int8, device);
}

diopiError_t diopiGeneratorGetState(diopiContextHandle_t ctx, diopiConstGeneratorHandle_t th,
                                    diopiTensorHandle_t* data) {
    return guarded(__func__, [&] {
        require_not_null(ctx, "ctx");
        require_not_null(th, "th");
        require_not_null(data, "data");
        auto* const generator = reinterpret_cast<const c10::GeneratorImpl*>(th);
        ctx->temporaries.emplace_back(at::Tensor(generator->get_state()));
        *data = backend::handle(ctx->temporaries.back());
    });
}

diopiError_t diopiGeneratorSetState(diopiGeneratorHandle_t th, diopiConstTensorHandle_t state) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        auto* const generator = reinterpret_cast<c10::GeneratorImpl*>(th);
        const std::lock_guard<std::mutex> lock(generator->mutex_);
        generator->set_state(*backend::dense(state).unsafeGetTensorImpl());
    });
}

diopiError_t diopiGeneratorGetSeedAndOffset(diopiGeneratorHandle_t th, uint64_t* ptrSeed, uint64_t* ptrOffset) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        auto* const generator = reinterpret_cast<c10::GeneratorImpl*>(th);
        const uint64_t* const captured = backend::offset_in_capture(generator, backend::Use::kRead);
        const std::lock_guard<std::mutex> lock(generator->mutex_);
        *ptrSeed = generator->current_seed();
        *ptrOffset = captured == nullptr ? generator->get_offset() : *captured;
    });
}

diopiError_t diopiGeneratorSetSeedAndOffset(diopiGeneratorHandle_t th, uint64_t seed, uint64_t offset) {
    return guarded(__func__, [&] {
        require_not_null(th, "th");
        auto* const generator = reinterpret_cast<c10::GeneratorImpl*>(th);
        if (uint64_t* const captured = backend::offset_in_capture(generator, backend::Use::kWrite)) {
            *captured = offset;
            return;
        }
        const std::lock_guard<std::mutex> lock(generator->mutex_);
        generator->set_current_seed(seed);
        generator->set_offset(offset);
    });
}
