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
        if (operand.kind == Kind::kTensor) {
            collect(operand, 0, operand.handle(), fetch);
        } else if (operand.kind == Kind::kTensors && operand.handles() != nullptr) {
            for (int64_t i = 0; i < operand.count; ++i) {
                collect(operand, i, operand.handles()[i], fetch);
            }
        } else if (operand.kind == Kind::kAllocated) {
            has_allocated_ = true;
        }
    }
    if (has_allocated_ && has_device_ && has_host_) {
        throw Failure(diopiErrorOccurred, "the tensors are on several devices");
    }
    merge_ranges();
    fetch_ranges();
    for (HostTensor& tensor : tensors_) {
        const Range* range = range_of(tensor.info);
        tensor.data = range == nullptr ? nullptr : range->data + (tensor.info.address - range->begin);
    }
}

HostCopy::~HostCopy() { restore(); }

void HostCopy::collect(const Operand& operand, int64_t index, diopiTensorHandle_t tensor, Fetch fetch) {
    if (tensor == nullptr) {
        return;
    }
    if (!is_sparse(tensor)) {
        collect_dense(operand, index, tensor, fetch);
        return;
    }
    diopiConstTensorHandle_t part = nullptr;
    require(diopiGetTensorCrowIndices(tensor, &part), "diopiGetTensorCrowIndices");
    collect_dense(operand, index, part, fetch);
    require(diopiGetTensorColIndices(tensor, &part), "diopiGetTensorColIndices");
    collect_dense(operand, index, part, fetch);
    require(diopiGetTensorValues(tensor, &part), "diopiGetTensorValues");
    collect_dense(operand, index, part, fetch);
}

void HostCopy::collect_dense(const Operand& operand, int64_t index, diopiConstTensorHandle_t tensor, Fetch fetch) {
    TensorInfo info = inspect(tensor);
    (info.device == diopi_device ? has_device_ : has_host_) = true;
    if (info.bytes > 0) {
        const bool is_read = fetch == Fetch::kAll || operand.direction != Direction::kOut || !info.is_gapless();
        const uintptr_t end = info.address + info.bytes;
        ranges_.push_back({info.address, end, info.device, is_read, operand.is_written(), {}, nullptr});
    }
    tensors_.push_back({&operand, index, std::move(info), nullptr});
}

void HostCopy::merge_ranges() {
    std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    std::vector<Range> merged;
    for (Range& range : ranges_) {
        if (merged.empty() || range.begin >= merged.back().end || range.device != merged.back().device) {
            merged.push_back(std::move(range));
            continue;
        }
        Range& last = merged.back();
        const bool is_same = range.begin == last.begin && range.end == last.end;
        last.end = std::max(last.end, range.end);
        // Of two different tensors in one range, neither may lose what only the other one writes.
        last.is_read = last.is_read || range.is_read || !is_same;
        last.is_written = last.is_written || range.is_written;
    }
    ranges_ = std::move(merged);
}

void HostCopy::fetch_ranges() {
    for (Range& range : ranges_) {
        const uint64_t bytes = range.end - range.begin;
        // The copy is laid out as the original is, relative to boundaries that loads may ask for.
        const uint64_t shift = range.begin % kAlignment;
        range.memory.reset(static_cast<char*>(::operator new(bytes + shift, std::align_val_t{kAlignment})));
        range.data = range.memory.get() + shift;
        if (range.is_read) {
            require(diopiHostCopyFromStorage(ctx_, on_device(range).get(), range.data, bytes), "copy to the host");
        }
    }
}

HostCopy::Range* HostCopy::range_of(const TensorInfo& info) {
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

HostCopy::Handle HostCopy::on_device(const Range& range) const {
    const int64_t count = static_cast<int64_t>(range.end - range.begin);
    const int64_t one = 1;
    void* const data = reinterpret_cast<void*>(range.begin);
    return wrapped(data, range.end - range.begin, {&count, 1}, {&one, 1}, diopi_dtype_uint8, range.device);
}

diopiTensorHandle_t HostCopy::copy_of_dense(diopiConstTensorHandle_t tensor) {
    const TensorInfo info = inspect(tensor);
    Range* const range = range_of(info);
    void* const data = range == nullptr ? nullptr : range->data + (info.address - range->begin);
    // The copies keep the device of their tensors, so that the operator sees what the caller mixes. Not where it
    // allocates: it would get memory of the device.
    const diopiDevice_t device = has_allocated_ ? diopi_host : info.device;
    handles_.push_back(wrapped(data, info.bytes, info.size(), info.stride(), info.dtype, device));
    return handles_.back().get();
}

diopiTensorHandle_t HostCopy::copy_of(diopiTensorHandle_t tensor) {
    if (tensor == nullptr) {
        return nullptr;
    }
    for (const auto& [original, copy] : known_) {
        if (original == tensor) {
            return copy;
        }
    }
    diopiTensorHandle_t copy = nullptr;
    if (is_sparse(tensor)) {
        diopiConstTensorHandle_t rows = nullptr;
        diopiConstTensorHandle_t columns = nullptr;
        diopiConstTensorHandle_t values = nullptr;
        require(diopiGetTensorCrowIndices(tensor, &rows), "diopiGetTensorCrowIndices");
        require(diopiGetTensorColIndices(tensor, &columns), "diopiGetTensorColIndices");
        require(diopiGetTensorValues(tensor, &values), "diopiGetTensorValues");
        diopiSize_t size{};
        require(diopiGetTensorShape(tensor, &size), "diopiGetTensorShape");
        require(
            diopiHostCreateSparseCsr(&copy, &size, copy_of_dense(rows), copy_of_dense(columns), copy_of_dense(values)),
            "diopiHostCreateSparseCsr");
        handles_.emplace_back(copy);
    } else {
        copy = copy_of_dense(tensor);
    }
    known_.emplace_back(tensor, copy);
    return copy;
}

void HostCopy::substitute() {
    for (const Operand& operand : operands_) {
        if (operand.kind == Kind::kTensor) {
            diopiTensorHandle_t& slot = operand.handle();
            const diopiTensorHandle_t copy = copy_of(slot);
            replaced_.push_back({&slot, slot, copy});
            slot = copy;
        } else if (operand.kind == Kind::kTensors && operand.handles() != nullptr) {
            List& list = lists_.emplace_back();
            list.operand = &operand;
            list.original = operand.handles();
            for (int64_t i = 0; i < operand.count; ++i) {
                list.handles.push_back(copy_of(list.original[i]));
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

void HostCopy::move_allocated(diopiTensorHandle_t& allocated) {
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

void HostCopy::write_back() {
    for (const Range& range : ranges_) {
        if (range.is_written) {
            require(diopiHostCopyToStorage(ctx_, on_device(range).get(), range.data, range.end - range.begin),
                    "copy to the device");
        }
    }
    if (!has_device_) {
        return;
    }
    for (const Operand& operand : operands_) {
        if (operand.kind == Kind::kAllocated && operand.handles() != nullptr) {
            for (int64_t i = 0; i < operand.count; ++i) {
                if (operand.handles()[i] != nullptr) {
                    move_allocated(operand.handles()[i]);
                }
            }
        }
    }
}

}  // namespace diopigen::dispatch
