#include "communicator.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <diopi/functions.h>
#include <diopigen_torch/dtypes.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>

namespace diopigen::distributed {

namespace {

std::string last_error() {
    const char* const text = diopiGetLastErrorString == nullptr ? nullptr : diopiGetLastErrorString();
    return text == nullptr ? "" : text;
}

template <typename Function>
void require(Function function, const char* name) {
    TORCH_CHECK_WITH(DistBackendError, function != nullptr, name, " is not in the vendor's library");
}

/// Libraries may wait in diopiCommInitRank for all ranks, without a limit: they do so on a thread of their own.
diopiComm_t initialized(c10::Device device, int nranks, const diopiUniqueId_t& id, int rank,
                        std::chrono::milliseconds limit) {
    struct State {
        std::promise<diopiComm_t> result;
        std::atomic<bool> is_decided{false};  // by the thread, which has a result, or by its caller, which has given up
    };
    const auto state = std::make_shared<State>();
    std::future<diopiComm_t> result = state->result.get_future();
    std::thread([=] {
        try {
            const c10::DeviceGuard guard(device);
            diopiComm_t handle = nullptr;
            check(diopiCommInitRank(&handle, nranks, &id, rank), "diopiCommInitRank");
            if (state->is_decided.exchange(true)) {
                diopiCommDestroy(handle);
            } else {
                state->result.set_value(handle);
            }
        } catch (...) {
            state->result.set_exception(std::current_exception());
        }
    }).detach();
    if (result.wait_for(limit) != std::future_status::ready && !state->is_decided.exchange(true)) {
        TORCH_CHECK_WITH(DistBackendError, false, "not all of its ", nranks, " ranks made it within ", limit.count(),
                         " ms, the group's timeout");
    }
    return result.get();
}

c10::Stream new_stream(c10::Device device) { return c10::impl::VirtualGuardImpl(kDevice).getNewStream(device); }

}  // namespace

void check(diopiError_t status, const char* function) {
    TORCH_CHECK_WITH(DistBackendError, status == diopiSuccess, function, " failed with status ",
                     static_cast<int>(status), ": ", last_error());
}

diopiDtype_t dtype_of(const at::Tensor& tensor) {
    TORCH_CHECK(backend::is_in(backend::kAnyDtype, tensor.scalar_type()), "collectives have no dtype for tensors of ",
                tensor.scalar_type());
    return backend::dtype_of(tensor.scalar_type());
}

c10::Stream current_stream(c10::Device device) { return c10::impl::VirtualGuardImpl(kDevice).getStream(device); }

diopiStreamHandle_t handle_of(c10::Stream stream) {
    return c10::impl::VirtualGuardImpl(kDevice).getStreamNativeHandle(stream);
}

Communicator::Communicator(c10::Device device, int nranks, const diopiUniqueId_t& id, int rank,
                           std::chrono::milliseconds limit)
    : device_(device), stream_(new_stream(device)), receiving_(new_stream(device)) {
    require(diopiCommInitRank, "diopiCommInitRank");
    handle_ = initialized(device, nranks, id, rank, limit);
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
        return last_error();
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
