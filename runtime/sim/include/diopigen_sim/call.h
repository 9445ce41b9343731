// A call of an operator under way: its tensors, what must be known of them before a kernel is queued, and the launch.
//
//     Call call(ctx, "diopiMm", {out}, {input, mat2});
//     if (!call.isOneFloat() || call.rank(0) != 2 || ...) { ... }
//     const Status status = call.launch([=](const Kernel& k) { ... load(k, 1) ... store(k, 0, values); });
//
// Inline, as tensor.h: the simulated device itself needs no host runtime.
#ifndef DIOPIGEN_SIM_CALL_H_
#define DIOPIGEN_SIM_CALL_H_

#include <diopi/diopirt.h>
#include <diopigen_sim/launch.h>
#include <diopigen_sim/sharing.h>
#include <diopigen_sim/tensor.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace diopigen::sim {

using Positions = std::initializer_list<int>;

inline Shape shapeOf(diopiSize_t size) { return size.len < 1 ? Shape{} : Shape(size.data, size.data + size.len); }
inline bool isFloat(diopiDtype_t dtype) {
    return dtype == diopi_dtype_float32 || dtype == diopi_dtype_float16 || dtype == diopi_dtype_bfloat16;
}

/// Makes `shape` the shape that both broadcast to; false where they do not fit.
inline bool broadcast(Shape* shape, const Shape& other) {
    bool fits = true;
    shape->insert(shape->begin(), other.size() - std::min(other.size(), shape->size()), 1);
    for (std::size_t i = 1; i <= other.size(); ++i) {
        int64_t& size = (*shape)[shape->size() - i];
        const int64_t wanted = other[other.size() - i];
        fits = fits && (size == wanted || size == 1 || wanted == 1);
        size = size == 1 ? wanted : size;
    }
    return fits;
}

/// The results of an operator and then its operands, numbered from 0. A tensor that is read and written is in both.
class Call {
  public:
    /// Tensors at the positions in `optional` may be null.
    Call(diopiContextHandle_t ctx, const char* name, std::initializer_list<diopiTensorHandle_t> results = {},
         std::initializer_list<diopiConstTensorHandle_t> operands = {}, Positions optional = {})
        : ctx_(ctx), name_(name) {
        buffers_.reserve(std::max<std::size_t>(results.size() + operands.size(), 4));
        const auto isOptional = [&] {
            return std::find(optional.begin(), optional.end(), static_cast<int>(buffers_.size())) != optional.end();
        };
        for (const diopiTensorHandle_t tensor : results) {
            add(tensor, Access::write, isOptional());
        }
        for (const diopiConstTensorHandle_t tensor : operands) {
            add(tensor, Access::read, isOptional());
        }
    }

    /// One tensor more; gives its number.
    int add(diopiConstTensorHandle_t tensor, Access access, bool isOptional = false) {
        diopiDevice_t device = diopi_device;
        bool isSparse = false;
        buffers_.emplace_back();
        bool isFine = isOptional;
        if (tensor != nullptr) {
            isFine = diopiGetTensorDevice(tensor, &device) == diopiSuccess && device == diopi_device &&
                     diopiIsTensorSparse(tensor, &isSparse) == diopiSuccess && !isSparse &&
                     bufferOf(tensor, access, &buffers_.back()) == diopiSuccess && buffers_.back().bytes > 0;
        }
        isComplete_ = isComplete_ && isFine;
        return static_cast<int>(buffers_.size()) - 1;
    }

    int add(Buffer buffer) {
        buffers_.push_back(std::move(buffer));
        return static_cast<int>(buffers_.size()) - 1;
    }

    /// Whether all tensors so far are there, on the device, dense, and have elements.
    bool isComplete() const { return isComplete_; }
    bool has(int k) const { return buffers_[k].isTensor; }
    const Shape& shape(int k) const { return buffers_[k].shape; }
    diopiDtype_t dtype(int k) const { return buffers_[k].dtype; }
    int64_t rank(int k) const { return static_cast<int64_t>(shape(k).size()); }

    /// The place of a dimension that may count from the end; -1 where there is none.
    int64_t dim(int k, int64_t dim) const {
        const int64_t place = dim < 0 ? dim + rank(k) : dim;
        return place >= 0 && place < rank(k) ? place : -1;
    }

    /// Whether these tensors, as far as they are there, have one shape or dtype.
    bool haveShape(Positions tensors, const Shape& wanted) const {
        return std::all_of(tensors.begin(), tensors.end(), [&](int k) { return !has(k) || shape(k) == wanted; });
    }
    bool haveDtype(Positions tensors, diopiDtype_t wanted) const {
        return std::all_of(tensors.begin(), tensors.end(), [&](int k) { return !has(k) || dtype(k) == wanted; });
    }
    /// Whether all tensors have the floating dtype of the first one.
    bool isOneFloat() const {
        const auto fits = [this](const Buffer& buffer) { return !buffer.isTensor || buffer.dtype == dtype(0); };
        return isFloat(dtype(0)) && std::all_of(buffers_.begin(), buffers_.end(), fits);
    }

    /// From here on these tensors are seen with the dimensions `dims`, in this order, behind all others, so that
    /// load() gives rows. False, with some of them moved, where a dimension does not exist or is named twice.
    bool moveLast(const Shape& dims, Positions tensors) {
        for (const int k : tensors) {
            const Shape oldShape = shape(k);
            const Shape oldStride = buffers_[k].stride;
            Shape order(oldShape.size());
            std::iota(order.begin(), order.end(), 0);
            auto moved = order.end();
            for (const int64_t each : has(k) ? dims : Shape{}) {
                const auto place = std::find(order.begin(), moved, dim(k, each));
                if (place == moved) {
                    return false;
                }
                std::rotate(place, place + 1, order.end());
                --moved;
            }
            for (std::size_t d = 0; d < order.size(); ++d) {
                buffers_[k].shape[d] = oldShape[order[d]];
                buffers_[k].stride[d] = oldStride[order[d]];
            }
        }
        return true;
    }

    /// Queues the kernel on the stream of the context, once: the tensors go with it. `unsupported` where a fallback may
    /// know better: a tensor that is missing, empty, sparse or in host memory, results that share memory, what the chip
    /// does not take.
    Status launch(std::function<void(const Kernel&)> kernel) const {
        if (!isComplete_ || !resultsAreApart(buffers_)) {
            return {Code::unsupported, std::string(name_) + ": not a call that the device takes"};
        }
        diopiStreamHandle_t stream = nullptr;
        if (diopiGetStream(ctx_, &stream) != diopiSuccess) {
            return {Code::invalidArgument, std::string(name_) + ": the context gives no stream"};
        }
        return sim::launch(stream, name_, std::move(buffers_), std::move(kernel), When::atOnceIfSmall);
    }

  private:
    diopiContextHandle_t ctx_;
    const char* name_;
    bool isComplete_ = true;
    mutable std::vector<Buffer> buffers_;  // moved by launch(): copies of shapes would cost as much as the rest of it
};

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_CALL_H_
