#include <diopigen/dtypes.h>
#include <diopigen_kernels/sharing.h>

#include <algorithm>
#include <cstdint>

namespace diopigen::kernels {

namespace {

struct Dimension {
    int64_t stride, size;
};

bool overlaps_itself(const Buffer& buffer) {
    if (isInOrder(buffer.shape, buffer.stride)) {
        return false;
    }
    SmallVector<Dimension, 8> dims;
    for (std::size_t d = 0; d < buffer.shape.size(); ++d) {
        if (buffer.shape[d] > 1) {
            dims.push_back({buffer.stride[d], buffer.shape[d]});
        }
    }
    std::sort(dims.begin(), dims.end(), [](const Dimension& a, const Dimension& b) { return a.stride < b.stride; });
    int64_t reach = 1;
    for (const auto& [stride, size] : dims) {
        if (stride < reach) {
            return true;
        }
        reach += (size - 1) * stride;
    }
    return false;
}

// How many elements a tensor takes in each window of `step` elements, if it is the same ones in all; else 0.
int64_t span_in_window(const Buffer& buffer, int64_t step) {
    int64_t span = 1;
    for (std::size_t d = 0; d < buffer.shape.size(); ++d) {
        const int64_t stride = buffer.shape[d] > 1 ? buffer.stride[d] : 0;
        if (stride < 0 || (stride >= step && stride % step != 0)) {
            return 0;
        }
        span += stride < step ? (buffer.shape[d] - 1) * stride : 0;
    }
    return span;
}

// Whether tensors of one dtype lie between each other without a common element, as keys and values that follow each
// other in each slot of a cache, or slices of one projection.
bool are_interleaved(const Buffer& a, const Buffer& b) {
    const int64_t size = a.isTensor && b.isTensor && a.dtype == b.dtype ? element_bytes(a.dtype) : 0;
    const auto distance = static_cast<const char*>(b.pointer) - static_cast<const char*>(a.pointer);
    if (size == 0 || distance % size != 0) {
        return false;
    }
    return std::any_of(a.stride.begin(), a.stride.end(), [&](int64_t step) {
        if (step < 1) {
            return false;
        }
        const int64_t first = span_in_window(a, step), second = span_in_window(b, step);
        const int64_t start = (distance / size % step + step) % step;
        return first > 0 && second > 0 && start >= first && start + second <= step;
    });
}

bool overlap(const Buffer& a, const Buffer& b) {
    const auto* first = static_cast<const char*>(a.pointer);
    const auto* second = static_cast<const char*>(b.pointer);
    return first < second + b.bytes && second < first + a.bytes && !are_interleaved(a, b);
}

bool isSame(const Buffer& a, const Buffer& b) {
    return a.pointer == b.pointer && a.dtype == b.dtype && a.shape == b.shape && a.stride == b.stride;
}

}  // namespace

bool resultsAreApart(const std::vector<Buffer>& buffers) {
    return std::all_of(buffers.begin(), buffers.end(), [&](const Buffer& result) {
        if (result.access == Access::read || result.bytes == 0) {
            return true;
        }
        const bool is_alone = std::all_of(buffers.begin(), buffers.end(), [&](const Buffer& other) {
            return &other == &result || !overlap(result, other) ||
                   (other.access == Access::read && isSame(result, other));
        });
        return is_alone && !overlaps_itself(result);
    });
}

}  // namespace diopigen::kernels
