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

bool overlap(const Buffer& a, const Buffer& b) {
    const auto* first = static_cast<const char*>(a.pointer);
    const auto* second = static_cast<const char*>(b.pointer);
    return first < second + b.bytes && second < first + a.bytes;
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
