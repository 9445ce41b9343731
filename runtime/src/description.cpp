#include "description.h"

#include <diopigen/host.h>

#include <cstddef>

#include "tensor.h"

namespace diopigen {
namespace {

constexpr int kRankShift = 8;
constexpr uint32_t kRowMajor = 1U << 16;
constexpr uint32_t kChannelsLast = 1U << 17;

// Which dimension comes at `position` in memory, the fastest first.
size_t row_major_order(size_t position, size_t rank) { return rank - 1 - position; }
size_t channels_last_order(size_t position, size_t rank) {
    if (position == 0) {
        return 1;
    }
    return position == rank - 1 ? 0 : rank - position;
}

// Whether the elements are without gaps, in the order given. The stride of a dimension of one element is never used,
// so any value of it will do. No product can overflow: the number of elements fits.
bool is_in(const Layout& layout, size_t (*order)(size_t position, size_t rank)) {
    const size_t rank = layout.size.size();
    int64_t expected = 1;
    for (size_t position = 0; position < rank; ++position) {
        const size_t dimension = order(position, rank);
        if (layout.size[dimension] != 1) {
            if (layout.stride[dimension] != expected) {
                return false;
            }
            expected *= layout.size[dimension];
        }
    }
    return true;
}

}  // namespace

uint32_t describe(const Layout& layout, diopiDtype_t dtype) {
    const size_t rank = layout.size.size();
    uint32_t word = static_cast<uint32_t>(dtype) | static_cast<uint32_t>(rank) << kRankShift;
    // No element, no place that could be wrong.
    if (layout.numel == 0 || is_in(layout, row_major_order)) {
        word |= kRowMajor;
    }
    if (rank >= 3 && (layout.numel == 0 || is_in(layout, channels_last_order))) {
        word |= kChannelsLast;
    }
    return word;
}

}  // namespace diopigen

// Nothing here throws, and every nanosecond counts: no guard.
uint32_t diopiHostDescribeTensor(diopiConstTensorHandle_t tensor) {
    return tensor != nullptr ? tensor->description : diopigen::kUndescribed;
}
