#include "host_copy.h"

#include <diopigen/host.h>

#include <algorithm>
#include <new>
#include <string>

#include "error_text.h"

namespace diopigen::dispatch {

namespace {

constexpr uint64_t kAlignment = 64;

}  // namespace

void HostCopy::Free::operator()(char* data) const { ::operator delete(data, std::align_val_t{kAlignment}); }

void HostCopy::Destroy::operator()(diopiTensorHandle_t tensor) const { diopiHostDestroyTensor(tensor); }

HostCopy::HostCopy(diopiContextHandle_t ctx, Operands operands, Fetch fetch) : ctx_(ctx), operands_(operands) {
    for (const Operand& operand : operands) {
        if (operand.kind == Kind::tensor) {
            collect(operand, 0, operand.handle(), fetch);
        } else if (operand.kind == Kind::tensors && operand.handles() != nullptr) {
            for (int64_t i = 0; i < operand.count; ++i) {
                collect(operand, i, operand.handles()[i], fetch);
            }
        } else if (operand.kind == Kind::allocated) {
            hasAllocated_ = true;
        }
    }
    if (hasAllocated_ && hasDevice_ && hasHost_) {
        throw Failure(diopiErrorOccurred, "the tensors are on several devices");
    }
    mergeRanges();
    fetchRanges();
    for (HostTensor& tensor : tensors_) {
        const Range* range = rangeOf(tensor.info);
        tensor.data = range == nullptr ? nullptr : range->data + (tensor.info.address - range->begin);
    }
}

HostCopy::~HostCopy() { restore(); }

void HostCopy::collect(const Operand& operand, int64_t index, diopiTensorHandle_t tensor, Fetch fetch) {
    if (tensor == nullptr) {
        return;
    }
    if (!isSparse(tensor)) {
        collectDense(operand, index, tensor, fetch);
        return;
    }
    diopiConstTensorHandle_t part = nullptr;
    require(diopiGetTensorCrowIndices(tensor, &part), "diopiGetTensorCrowIndices");
    collectDense(operand, index, part, fetch);
    require(diopiGetTensorColIndices(tensor, &part), "diopiGetTensorColIndices");
    collectDense(operand, index, part, fetch);
    require(diopiGetTensorValues(tensor, &part), "diopiGetTensorValues");
    collectDense(operand, index, part, fetch);
}

void HostCopy::collectDense(const Operand& operand, int64_t index, diopiConstTensorHandle_t tensor, Fetch fetch) {
    TensorInfo info = inspect(tensor);
    (info.device == diopi_device ? hasDevice_ : hasHost_) = true;
    if (info.bytes > 0) {
        const bool isRead = fetch == Fetch::all || operand.direction != Direction::out || !info.isGapless();
        const uintptr_t end = info.address + info.bytes;
        ranges_.push_back({info.address, end, info.device, isRead, operand.isWritten(), {}, nullptr});
    }
    tensors_.push_back({&operand, index, std::move(info), nullptr});
}

void HostCopy::mergeRanges() {
    std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    std::vector<Range> merged;
    for (Range& range : ranges_) {
        if (merged.empty() || range.begin >= merged.back().end || range.device != merged.back().device) {
            merged.push_back(std::move(range));
            continue;
        }
        Range& last = merged.back();
        const bool isSame = range.begin == last.begin && range.end == last.end;
        last.end = std::max(last.end, range.end);
        // Of two different tensors in one range, neither may lose what only the other one writes.
        last.isRead = last.isRead || range.isRead || !isSame;
        last.isWritten = last.isWritten || range.isWritten;
    }
    ranges_ = std::move(merged);
}

void HostCopy::fetchRanges() {
    for (Range& range : ranges_) {
        const uint64_t bytes = range.end - range.begin;
        // The copy is laid out as the original is, relative to boundaries that loads may ask for.
        const uint64_t shift = range.begin % kAlignment;
        range.memory.reset(static_cast<char*>(::operator new(bytes + shift, std::align_val_t{kAlignment})));
        range.data = range.memory.get() + shift;
        if (range.isRead) {
            require(diopiHostCopyFromStorage(ctx_, onDevice(range).get(), range.data, bytes), "copy to the host");
        }
    }
}

HostCopy::Range* HostCopy::rangeOf(const TensorInfo& info) {
    if (info.bytes == 0) {
        return nullptr;
    }
    for (Range& range : ranges_) {
        if (range.begin <= info.address && info.address < range.end && range.device == info.device) {
            return &range;
        }
    }
    return nullptr;
}

HostCopy::Handle HostCopy::wrapped(void* data, uint64_t bytes, const diopiSize_t& size, const diopiSize_t& stride,
                                   diopiDtype_t dtype, diopiDevice_t device) const {
    diopiTensorHandle_t handle = nullptr;
    require(diopiHostWrapMemory(ctx_, &handle, data, bytes, &size, &stride, 0, dtype, device), "diopiHostWrapMemory");
    return Handle(handle);
}

HostCopy::Handle HostCopy::onDevice(const Range& range) const {
    const int64_t count = static_cast<int64_t>(range.end - range.begin);
    const int64_t one = 1;
    void* const data = reinterpret_cast<void*>(range.begin);
    return wrapped(data, range.end - range.begin, {&count, 1}, {&one, 1}, diopi_dtype_uint8, range.device);
}

diopiTensorHandle_t HostCopy::copyOfDense(diopiConstTensorHandle_t tensor) {
    const TensorInfo info = inspect(tensor);
    Range* const range = rangeOf(info);
    void* const data = range == nullptr ? nullptr : range->data + (info.address - range->begin);
    // The copies keep the device of their tensors, so that the operator sees what the caller mixes. Not where it
    // allocates: it would get memory of the device.
    const diopiDevice_t device = hasAllocated_ ? diopi_host : info.device;
    handles_.push_back(wrapped(data, info.bytes, info.size(), info.stride(), info.dtype, device));
    return handles_.back().get();
}

diopiTensorHandle_t HostCopy::copyOf(diopiTensorHandle_t tensor) {
    if (tensor == nullptr) {
        return nullptr;
    }
    for (const auto& [original, copy] : known_) {
        if (original == tensor) {
            return copy;
        }
    }
    diopiTensorHandle_t copy = nullptr;
    if (isSparse(tensor)) {
        diopiConstTensorHandle_t rows = nullptr;
        diopiConstTensorHandle_t columns = nullptr;
        diopiConstTensorHandle_t values = nullptr;
        require(diopiGetTensorCrowIndices(tensor, &rows), "diopiGetTensorCrowIndices");
        require(diopiGetTensorColIndices(tensor, &columns), "diopiGetTensorColIndices");
        require(diopiGetTensorValues(tensor, &values), "diopiGetTensorValues");
        diopiSize_t size{};
        require(diopiGetTensorShape(tensor, &size), "diopiGetTensorShape");
        require(diopiHostCreateSparseCsr(&copy, &size, copyOfDense(rows), copyOfDense(columns), copyOfDense(values)),
                "diopiHostCreateSparseCsr");
        handles_.emplace_back(copy);
    } else {
        copy = copyOfDense(tensor);
    }
    known_.emplace_back(tensor, copy);
    return copy;
}

void HostCopy::substitute() {
    for (const Operand& operand : operands_) {
        if (operand.kind == Kind::tensor) {
            diopiTensorHandle_t& slot = operand.handle();
            const diopiTensorHandle_t copy = copyOf(slot);
            replaced_.push_back({&slot, slot, copy});
            slot = copy;
        } else if (operand.kind == Kind::tensors && operand.handles() != nullptr) {
            List& list = lists_.emplace_back();
            list.operand = &operand;
            list.original = operand.handles();
            for (int64_t i = 0; i < operand.count; ++i) {
                list.handles.push_back(copyOf(list.original[i]));
            }
            operand.handles() = list.handles.data();
        }
    }
}

void HostCopy::restore() {
    for (const Replaced& replaced : replaced_) {
        *replaced.slot = replaced.original;
    }
    for (const List& list : lists_) {
        list.operand->handles() = list.original;
    }
    replaced_.clear();
    lists_.clear();
}

void HostCopy::moveAllocated(diopiTensorHandle_t& allocated) {
    const TensorInfo info = inspect(allocated);
    const diopiSize_t size = info.size();
    const diopiSize_t stride = info.stride();
    diopiTensorHandle_t moved = nullptr;
    require(diopiRequireTensor(ctx_, &moved, &size, &stride, info.dtype, diopi_device), "diopiRequireTensor");
    if (info.bytes > 0) {
        require(diopiHostCopyToStorage(ctx_, moved, reinterpret_cast<const void*>(info.address), info.bytes),
                "copy to the device");
    }
    require(diopiHostReleaseTemporary(ctx_, allocated), "diopiHostReleaseTemporary");
    allocated = moved;
}

void HostCopy::writeBack() {
    for (const Range& range : ranges_) {
        if (range.isWritten) {
            require(diopiHostCopyToStorage(ctx_, onDevice(range).get(), range.data, range.end - range.begin),
                    "copy to the device");
        }
    }
    if (!hasDevice_) {
        return;
    }
    for (const Operand& operand : operands_) {
        if (operand.kind == Kind::allocated && operand.handles() != nullptr) {
            for (int64_t i = 0; i < operand.count; ++i) {
                if (operand.handles()[i] != nullptr) {
                    moveAllocated(operand.handles()[i]);
                }
            }
        }
    }
}

}  // namespace diopigen::dispatch
