#include "droplet/kernel.h"

#include <diopigen_sim/tensor.h>

#include <algorithm>

#include "droplet/error.h"

namespace impl {
namespace droplet {

using diopigen::sim::Access;
using diopigen::sim::Buffer;
using diopigen::sim::Kernel;
using diopigen::sim::Status;

namespace {

constexpr int64_t kMaxRank = 5;

bool isTaken(diopiDtype_t dtype) {
    return isFloat(dtype) || dtype == diopi_dtype_int32 || dtype == diopi_dtype_int16 || dtype == diopi_dtype_int8 ||
           dtype == diopi_dtype_uint8 || dtype == diopi_dtype_bool || dtype == diopi_dtype_int64;
}

// Whether two elements share memory, as far as the strides tell.
bool overlapsItself(const Buffer& buffer) {
    std::vector<std::pair<int64_t, int64_t>> dims;
    for (size_t d = 0; d < buffer.shape.size(); ++d) {
        if (buffer.shape[d] > 1) {
            dims.emplace_back(buffer.stride[d], buffer.shape[d]);
        }
    }
    std::sort(dims.begin(), dims.end());
    int64_t reach = 1;
    for (const auto& [stride, size] : dims) {
        if (stride < reach) {
            return true;
        }
        reach += (size - 1) * stride;
    }
    return false;
}

bool overlap(const Buffer& a, const Buffer& b) {
    const auto* first = static_cast<const char*>(a.pointer);
    const auto* second = static_cast<const char*>(b.pointer);
    return first < second + b.bytes && second < first + a.bytes;
}

bool isSame(const Buffer& a, const Buffer& b) {
    return a.pointer == b.pointer && a.dtype == b.dtype && a.shape == b.shape && a.stride == b.stride;
}

}  // namespace

int64_t product(const Shape& shape, size_t first, size_t last) {
    int64_t count = 1;
    for (size_t d = first; d < std::min(last, shape.size()); ++d) {
        count *= shape[d];
    }
    return count;
}

bool isFloat(diopiDtype_t dtype) {
    return dtype == diopi_dtype_float32 || dtype == diopi_dtype_float16 || dtype == diopi_dtype_bfloat16;
}

int Call::add(diopiConstTensorHandle_t tensor, Access access, bool isOptional) {
    Buffer buffer;
    diopiDevice_t device = diopi_device;
    bool isSparse = false;
    isComplete_ = isComplete_ && (tensor != nullptr || isOptional) &&
                  diopigen::sim::bufferOf(tensor, access, &buffer) == diopiSuccess &&
                  (tensor == nullptr || (diopiGetTensorDevice(tensor, &device) == diopiSuccess &&
                                         diopiIsTensorSparse(tensor, &isSparse) == diopiSuccess));
    isComplete_ = isComplete_ && device == diopi_device && !isSparse;
    buffers_.push_back(std::move(buffer));
    return static_cast<int>(buffers_.size()) - 1;
}

int64_t Call::dim(int k, int64_t dim) const {
    const int64_t place = dim < 0 ? dim + rank(k) : dim;
    return place >= 0 && place < rank(k) ? place : -1;
}

bool Call::isOneFloat() const {
    return std::all_of(buffers_.begin(), buffers_.end(), [this](const Buffer& buffer) {
        return !buffer.isTensor || (isFloat(buffer.dtype) && buffer.dtype == buffers_[0].dtype);
    });
}

bool Call::isPlain() const {
    for (const Buffer& buffer : buffers_) {
        const bool isRead = buffer.access == Access::read;
        if (!buffer.isTensor) {
            continue;
        }
        if (buffer.bytes == 0 || !isTaken(buffer.dtype) || static_cast<int64_t>(buffer.shape.size()) > kMaxRank ||
            (!isRead && overlapsItself(buffer))) {
            return false;
        }
        for (const Buffer& other : buffers_) {
            const bool mayShare = &other == &buffer || (isSame(buffer, other) && other.access == Access::read);
            if (!isRead && other.isTensor && !mayShare && overlap(buffer, other)) {
                return false;
            }
        }
    }
    return isComplete_;
}

diopiError_t Call::run(std::function<void(const Kernel&)> kernel) const {
    if (!isPlain()) {
        return kLeave;
    }
    diopiStreamHandle_t stream = nullptr;
    if (diopiGetStream(ctx_, &stream) != diopiSuccess) {
        setLastError("%s: the context has no stream", name_);
        return diopiErrorOccurred;
    }
    const Status status = diopigen::sim::launch(stream, name_, buffers_, std::move(kernel));
    if (!status.ok()) {
        setLastError("%s: %s", name_, status.text().c_str());
        return diopiErrorOccurred;
    }
    return diopiSuccess;
}

}  // namespace droplet
}  // namespace impl
