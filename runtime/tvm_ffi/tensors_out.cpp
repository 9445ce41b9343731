#include "tensors_out.h"

#include <diopigen/host.h>

#include <cstring>
#include <memory>
#include <string>

#include "failure.h"
#include "values.h"

namespace diopigen::ffi {
namespace {

/// Raises what a function of tvm-ffi has left behind.
void require_ffi(int code, const char* what) {
    if (code != 0) {
        TVMFFIObjectHandle error = nullptr;
        TVMFFIErrorMoveFromRaised(&error);
        if (error != nullptr) {
            TVMFFIObjectDecRef(error);
        }
        throw Failure{"RuntimeError", std::string(what) + " failed in tvm-ffi"};
    }
}

struct Export {
    std::shared_ptr<LibrarySession> session;
    diopiTensorHandle_t tensor = nullptr;
    std::vector<int64_t> dimensions;
    DLManagedTensorVersioned managed{};

    ~Export() {
        if (tensor != nullptr) {
            session->discard(tensor);
        }
    }
};

/// The handle is taken over.
TVMFFIAny handed_out(LibrarySession& session, diopiTensorHandle_t handle) {
    auto one = std::make_unique<Export>();
    one->session = session.shared_from_this();
    one->tensor = handle;
    diopiSize_t size{nullptr, 0};
    diopiSize_t stride{nullptr, 0};
    diopiDtype_t dtype = diopi_dtype_unsupported;
    diopiDevice_t device = diopi_host;
    void* data = nullptr;
    require(diopiGetTensorShape(handle, &size), "a result has no shape");
    require(diopiGetTensorStride(handle, &stride), "a result has no strides");
    require(diopiGetTensorDtype(handle, &dtype), "a result has no dtype");
    require(diopiGetTensorDevice(handle, &device), "a result has no device");
    require(diopiGetTensorData(handle, &data), "a result has no data");
    one->dimensions.assign(size.data, size.data + size.len);
    one->dimensions.insert(one->dimensions.end(), stride.data, stride.data + stride.len);
    DLManagedTensorVersioned& managed = one->managed;
    managed.version = {DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION};
    managed.dl_tensor.data = data;
    const bool on_device = device == diopi_device;
    managed.dl_tensor.device = {on_device ? session.library().device_type() : kDLCPU,
                                on_device ? session.library().device_id() : 0};
    managed.dl_tensor.ndim = static_cast<int32_t>(size.len);
    managed.dl_tensor.dtype = dlpack_of(dtype);
    managed.dl_tensor.shape = one->dimensions.data();
    managed.dl_tensor.strides = one->dimensions.data() + size.len;
    managed.manager_ctx = one.get();
    managed.deleter = [](DLManagedTensorVersioned* self) { delete static_cast<Export*>(self->manager_ctx); };
    TVMFFIAny any{};
    TVMFFIObjectHandle object = nullptr;
    require_ffi(TVMFFITensorFromDLPackVersioned(&managed, 0, 0, &object), "handing out a tensor");
    one.release();  // NOLINT: the deleter owns it
    any.type_index = kTVMFFITensor;
    any.v_obj = static_cast<TVMFFIObject*>(object);
    return any;
}

}  // namespace

TVMFFIAny exported(LibrarySession& session, diopiConstTensorHandle_t tensor) {
    if (tensor == nullptr) {
        return TVMFFIAny{};
    }
    diopiSize_t size{nullptr, 0};
    diopiSize_t stride{nullptr, 0};
    diopiDtype_t dtype = diopi_dtype_unsupported;
    int64_t offset = 0;
    require(diopiGetTensorShape(tensor, &size), "a result has no shape");
    require(diopiGetTensorStride(tensor, &stride), "a result has no strides");
    require(diopiGetTensorDtype(tensor, &dtype), "a result has no dtype");
    require(diopiGetTensorStorageOffset(tensor, &offset), "a result has no storage");
    // Temporaries end with the call; a view keeps their memory.
    diopiTensorHandle_t view = nullptr;
    require(diopiHostCreateView(&view, tensor, &size, &stride, offset, dtype), "a result cannot be kept");
    return handed_out(session, view);
}

TVMFFIAny allocated(LibrarySession& session, const diopiSize_t& size, diopiDtype_t dtype) {
    diopiTensorHandle_t tensor = nullptr;
    require(diopiHostCreateTensor(session.context(), &tensor, &size, nullptr, 0, dtype, session.library().memory()),
            "the tensor cannot be allocated");
    return handed_out(session, tensor);
}

TVMFFIAny listed(std::vector<TVMFFIAny>& values) {
    static const TVMFFIObjectHandle make_array = [] {
        const char* const name = "ffi.Array";
        const TVMFFIByteArray key{name, std::strlen(name)};
        TVMFFIObjectHandle function = nullptr;
        require_ffi(TVMFFIFunctionGetGlobal(&key, &function), "looking up ffi.Array");
        return function;
    }();
    TVMFFIAny list{};
    require_ffi(TVMFFIFunctionCall(make_array, values.data(), static_cast<int32_t>(values.size()), &list),
                "making a list");
    for (TVMFFIAny& value : values) {
        if (value.type_index >= kTVMFFIStaticObjectBegin) {
            TVMFFIObjectDecRef(value.v_obj);
        }
    }
    values.clear();
    return list;
}

}  // namespace diopigen::ffi
