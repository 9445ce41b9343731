// Lists of kernels: their chunks, and which of their members depend on each other.
#include "diopi_cuda/kernel_list.h"

#include <algorithm>

namespace diopigen::cuda {

namespace {

struct Range {
    uintptr_t begin;
    uintptr_t end;
};

// The memory between the first and the last element.
Range range_of(const core::Tensor& tensor) {
    int64_t first = 0;
    int64_t last = 0;
    for (int64_t d = 0; d < tensor.rank; ++d) {
        const int64_t reach = (tensor.shape[d] - 1) * tensor.strides[d];
        (reach < 0 ? first : last) += reach;
    }
    const auto data = reinterpret_cast<uintptr_t>(tensor.data);
    const int64_t size = size_of(tensor.dtype);
    return {data + static_cast<uintptr_t>(first * size), data + static_cast<uintptr_t>((last + 1) * size)};
}

bool has_memory(const core::Tensor* tensor) {
    return tensor != nullptr && !tensor->is_null() && tensor->numel > 0 && tensor->device != diopi_host;
}

}  // namespace

// Of a length that fills a device with long tensors and keeps the table short.
std::vector<ListChunk> chunks_of(const std::vector<int64_t>& counts) {
    constexpr int64_t kLeast = int64_t{4} * kThreads;
    constexpr int64_t kMost = 1 << 14;  // chunks, but for the last of each kernel
    int64_t total = 0;
    for (const int64_t count : counts) {
        total += count;
    }
    const int64_t length = std::max(kLeast, (total / kMost + kThreads - 1) / kThreads * kThreads);
    std::vector<ListChunk> chunks;
    for (size_t k = 0; k < counts.size(); ++k) {
        for (int64_t first = 0; first < counts[k]; first += length) {
            chunks.push_back({static_cast<int64_t>(k), first, std::min(counts[k], first + length)});
        }
    }
    return chunks;
}

bool KernelList::Ranges::overlap(const core::Tensor& tensor) const {
    const Range range = range_of(tensor);
    const auto behind = ends_.lower_bound(range.end);
    return behind != ends_.begin() && std::prev(behind)->second > range.begin;
}

void KernelList::Ranges::add(const core::Tensor& tensor) {
    Range range = range_of(tensor);
    auto behind = ends_.lower_bound(range.end);
    while (behind != ends_.begin() && std::prev(behind)->second > range.begin) {
        --behind;
        range.begin = std::min(range.begin, behind->first);
        range.end = std::max(range.end, behind->second);
        behind = ends_.erase(behind);
    }
    ends_[range.begin] = range.end;
}

void KernelList::reserve(const std::vector<const core::Tensor*>& read,
                         const std::vector<const core::Tensor*>& written) {
    const auto depends = [&](const core::Tensor* tensor, bool is_written) {
        return has_memory(tensor) && (written_.overlap(*tensor) || (is_written && read_.overlap(*tensor)));
    };
    const bool waits =
        std::any_of(read.begin(), read.end(), [&](const core::Tensor* tensor) { return depends(tensor, false); }) ||
        std::any_of(written.begin(), written.end(), [&](const core::Tensor* tensor) { return depends(tensor, true); });
    if (waits) {
        launch();
    }
    for (const core::Tensor* tensor : read) {
        if (has_memory(tensor)) {
            read_.add(*tensor);
        }
    }
    for (const core::Tensor* tensor : written) {
        if (has_memory(tensor)) {
            written_.add(*tensor);
        }
    }
}

KernelList::Kind& KernelList::kind_of(void (*launch)(const Kind&)) {
    const auto known =
        std::find_if(kinds_.begin(), kinds_.end(), [&](const Kind& kind) { return kind.launch == launch; });
    if (known != kinds_.end()) {
        return *known;
    }
    kinds_.push_back({launch, {}, {}});
    return kinds_.back();
}

void KernelList::launch() {
    for (const Kind& kind : kinds_) {
        kind.launch(kind);
    }
    kinds_.clear();
    read_.clear();
    written_.clear();
}

}  // namespace diopigen::cuda
