#include "communicator.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <diopi/functions.h>

namespace diopigen::distributed {

namespace {

std::string lastError() {
    const char* const text = diopiGetLastErrorString == nullptr ? nullptr : diopiGetLastErrorString();
    return text == nullptr ? "" : text;
}

template <typename Function>
void require(Function function, const char* name) {
    TORCH_CHECK_WITH(DistBackendError, function != nullptr, name, " is not in the vendor's library");
}

c10::Stream newStream(c10::Device device) { return c10::impl::VirtualGuardImpl(kDevice).getNewStream(device); }

}  // namespace

void check(diopiError_t status, const char* function) {
    TORCH_CHECK_WITH(DistBackendError, status == diopiSuccess, function, " failed with status ",
                     static_cast<int>(status), ": ", lastError());
}

diopiDtype_t dtypeOf(const at::Tensor& tensor) {
    switch (tensor.scalar_type()) {
        case at::kBool:
            return diopi_dtype_bool;
        case at::kByte:
            return diopi_dtype_uint8;
        case at::kChar:
            return diopi_dtype_int8;
        case at::kShort:
            return diopi_dtype_int16;
        case at::kInt:
            return diopi_dtype_int32;
        case at::kLong:
            return diopi_dtype_int64;
        case at::kHalf:
            return diopi_dtype_float16;
        case at::kBFloat16:
            return diopi_dtype_bfloat16;
        case at::kFloat:
            return diopi_dtype_float32;
        case at::kDouble:
            return diopi_dtype_float64;
        case at::kComplexFloat:
            return diopi_dtype_complex64;
        case at::kComplexDouble:
            return diopi_dtype_complex128;
        default:
            TORCH_CHECK(false, "collectives have no dtype for tensors of ", tensor.scalar_type());
    }
}

c10::Stream currentStream(c10::Device device) { return c10::impl::VirtualGuardImpl(kDevice).getStream(device); }

diopiStreamHandle_t handleOf(c10::Stream stream) {
    return c10::impl::VirtualGuardImpl(kDevice).getStreamNativeHandle(stream);
}

Communicator::Communicator(c10::Device device, int nranks, const diopiUniqueId_t& id, int rank)
    : device_(device), stream_(newStream(device)), receiving_(newStream(device)) {
    const c10::DeviceGuard guard(device);
    require(diopiCommInitRank, "diopiCommInitRank");
    check(diopiCommInitRank(&handle_, nranks, &id, rank), "diopiCommInitRank");
}

Communicator::~Communicator() {
    try {
        abort();
    } catch (const std::exception&) {
        // There is no caller that could be told.
    }
}

diopiComm_t Communicator::handle() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    TORCH_CHECK_WITH(DistBackendError, handle_ != nullptr, "the communicator was aborted",
                     error_.empty() ? "" : ": " + error_);
    return handle_;
}

std::string Communicator::error() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (handle_ == nullptr || diopiGetCommAsyncError == nullptr) {
        return error_;
    }
    diopiError_t found = diopiSuccess;
    if (diopiGetCommAsyncError(handle_, &found) != diopiSuccess || found != diopiSuccess) {
        return lastError();
    }
    return "";
}

void Communicator::abort() {
    const std::string failure = error();
    const std::lock_guard<std::mutex> lock(mutex_);
    if (handle_ != nullptr) {
        error_ = failure;
        const diopiError_t status = diopiCommDestroy(handle_);
        handle_ = nullptr;
        check(status, "diopiCommDestroy");
    }
}

}  // namespace diopigen::distributed
