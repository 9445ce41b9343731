// A call of an operator under way: its tensors, what must be known of them before a kernel is queued, and the launch.
//
//     const Call call(ctx, "diopiMm", {out}, {input, mat2});
//     if (!call.isOneFloat() || !call.haveRank({0, 1, 2}, 2)) {
//         return call.rejected();  // says which check failed
//     }
//     return call.launch(launch, [=](const Kernel& k) { ... load(k, 1) ... store(k, 0, values); });
//
// Inline, as tensor.h.
#ifndef DIOPIGEN_KERNELS_CALL_H_
#define DIOPIGEN_KERNELS_CALL_H_

#include <diopi/diopirt.h>
#include <diopigen_kernels/describe.h>
#include <diopigen_kernels/kernel.h>
#include <diopigen_kernels/sharing.h>
#include <diopigen_kernels/status.h>
#include <diopigen_kernels/tensor.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace diopigen::kernels {

using Context = diopiContextHandle_t;
using Out = diopiTensorHandle_t;
using In = diopiConstTensorHandle_t;
using Positions = std::initializer_list<int>;

inline Shape shapeOf(diopiSize_t size) { return size.len < 1 ? Shape{} : Shape(size.data, size.data + size.len); }

/// Makes `shape` the shape that both broadcast to; false where they do not fit.
inline bool broadcast(Shape* shape, const Shape& other) {
    if (shape->empty()) {
        *shape = other;
        return true;
    }
    if (*shape == other) {
        return true;
    }
    bool fits = true;
    shape->insert(shape->begin(), other.size() - std::min(other.size(), shape->size()), 1);
    for (std::size_t i = 1; i <= other.size(); ++i) {
        int64_t& size = (*shape)[shape->size() - i];
        const int64_t joined = other[other.size() - i];
        fits = fits && (size == joined || size == 1 || joined == 1);
        size = size == 1 ? joined : size;
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
        constexpr std::size_t kUsual = 4, kMostInCache = 1032;
        static_assert(kUsual * sizeof(Buffer) <= kMostInCache, "glibc keeps blocks up to this size for each thread");
        buffers_.reserve(std::max<std::size_t>(results.size() + operands.size(), kUsual));
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
        buffers_.emplace_back();
        const int number = static_cast<int>(buffers_.size()) - 1;
        if (tensor != nullptr) {
            const char* const why = faultOf(tensor, access, &buffers_.back());
            isComplete_ = (why == nullptr || fails(number, why)) && isComplete_;
        } else {
            isComplete_ = (isOptional || fails(number, "is missing")) && isComplete_;
        }
        return number;
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

    /// Whether its elements are in row-major order without gaps.
    bool isInOrder(int k) const { return has(k) && kernels::isInOrder(shape(k), buffers_[k].stride); }

    /// The index of a dimension that may count from the end; -1 where there is none.
    int64_t dim(int k, int64_t dim) const {
        const int64_t index = dim < 0 ? dim + rank(k) : dim;
        return index >= 0 && index < rank(k) ? index : -1;
    }

    // Checks of these tensors, as far as they are there. rejected() has the text of the last one that failed.

    bool hasShape(int k, const Shape& expected) const {
        return !has(k) || shape(k) == expected || fails(k, "has another shape than the kernel takes");
    }
    bool hasDtype(int k, diopiDtype_t expected) const {
        return !has(k) || dtype(k) == expected || fails(k, "has another dtype than the kernel takes");
    }
    /// Whether all tensors that are there have a dtype of which `takes(dtype)` holds.
    template <typename Takes>
    bool all(Takes takes) const {
        for (int k = 0; k < static_cast<int>(buffers_.size()); ++k) {
            if (has(k) && !takes(dtype(k))) {
                return fails(k, "is of no dtype that the kernel takes");
            }
        }
        return true;
    }
    bool haveShape(Positions tensors, const Shape& expected) const {
        return std::all_of(tensors.begin(), tensors.end(), [&](int k) { return hasShape(k, expected); });
    }
    bool haveRank(Positions tensors, int64_t expected) const {
        return std::all_of(tensors.begin(), tensors.end(), [&](int k) {
            return !has(k) || rank(k) == expected || fails(k, "has another rank than the kernel takes");
        });
    }
    bool haveDtype(Positions tensors, diopiDtype_t expected) const {
        return std::all_of(tensors.begin(), tensors.end(), [&](int k) { return hasDtype(k, expected); });
    }
    /// Whether all tensors that are there have the floating dtype of the first of them.
    bool isOneFloat() const {
        int first = -1;
        for (int k = 0; k < static_cast<int>(buffers_.size()); ++k) {
            if (!has(k)) {
                continue;
            }
            if (first < 0) {
                first = k;
            }
            if (!isFloat(dtype(k))) {
                return fails(k, "is of no floating dtype that the kernel takes");
            }
            if (dtype(k) != dtype(first)) {
                return fails(k, "has another dtype than the first tensor");
            }
        }
        return first >= 0 || fails(0, "is missing");
    }

    /// From here on these tensors are seen with the dimensions `dims`, in this order, behind all others, so that
    /// load() gives rows; the layouts of the chip are about them as they were. False, with some of them moved, where a
    /// dimension does not exist or is named twice.
    bool moveLast(const Shape& dims, Positions tensors) {
        for (const int k : tensors) {
            const Shape oldShape = shape(k);
            const Shape oldStride = buffers_[k].stride;
            const Order oldOrder = buffers_[k].order;
            Order order(oldShape.size());
            std::iota(order.begin(), order.end(), int8_t{0});
            auto moved = order.end();
            for (const int64_t each : has(k) ? dims : Shape{}) {
                const auto found = std::find(order.begin(), moved, dim(k, each));
                if (found == moved) {
                    return fails(k, "lacks a dimension, or it is named twice");
                }
                std::rotate(found, found + 1, order.end());
                --moved;
            }
            for (std::size_t d = 0; d < order.size(); ++d) {
                buffers_[k].shape[d] = oldShape[order[d]];
                buffers_[k].stride[d] = oldStride[order[d]];
                order[d] = oldOrder.empty() ? order[d] : oldOrder[order[d]];
            }
            buffers_[k].order = std::move(order);
        }
        return true;
    }

    /// Why the call is left to a fallback: `unsupported`, with the operator and the check that failed, or `why`.
    Status rejected(const char* why = nullptr) const {
        std::string text = name_;
        if (why == nullptr && failed_ >= 0) {
            const std::string tensor = has(failed_) ? " (" + describe(buffers_[failed_]) + ")" : "";
            text += ": tensor " + std::to_string(failed_) + tensor + " " + why_;
        } else {
            text += std::string(": ") + (why != nullptr ? why : "not a call that the kernel takes");
        }
        return {Code::unsupported, text};
    }

    /// Queues the kernel on the stream of the context, once, by `launch(stream, name, buffers, kernel)`: the tensors go
    /// with it. `unsupported` where a fallback may know better: a tensor that is missing, empty, sparse or in host
    /// memory, results that share memory, what `launch` does not take.
    template <typename Launch, typename Function>
    Status launch(const Launch& launch, Function kernel) const {
        if (!isComplete_) {
            return rejected();
        }
        if (!resultsAreApart(buffers_)) {
            return rejected("a result shares memory with another tensor");
        }
        diopiStreamHandle_t stream = nullptr;
        if (diopiGetStream(ctx_, &stream) != diopiSuccess) {
            return {Code::invalidArgument, std::string(name_) + ": the context gives no stream"};
        }
        return launch(stream, name_, std::move(buffers_), std::move(kernel));
    }

  private:
    // Fills `buffer`; why a kernel cannot use the tensor, or null.
    static const char* faultOf(diopiConstTensorHandle_t tensor, Access access, Buffer* buffer) {
        TensorFacts facts;
        buffer->access = access;
        if (inspect(tensor, &facts) != diopiSuccess) {
            return "cannot be read";
        }
        if (facts.device != diopi_device) {
            return "is in host memory";
        }
        if (facts.isSparse) {
            return "is sparse";
        }
        describeElements(facts, buffer);
        return buffer->bytes > 0 ? nullptr : "has no elements";
    }

    bool fails(int k, const char* why) const {
        failed_ = k;
        why_ = why;
        return false;
    }

    diopiContextHandle_t ctx_;
    const char* name_;
    bool isComplete_ = true;
    mutable int failed_ = -1;
    mutable const char* why_ = "";
    mutable std::vector<Buffer> buffers_;  // moved by launch(): copies of shapes would cost as much as the rest of it
};

}  // namespace diopigen::kernels

#endif  // DIOPIGEN_KERNELS_CALL_H_
