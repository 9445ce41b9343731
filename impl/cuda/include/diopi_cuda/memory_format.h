// Images in memory: channel by channel, as DIOPI's shapes have them, or position by position.
#ifndef DIOPI_CUDA_MEMORY_FORMAT_H_
#define DIOPI_CUDA_MEMORY_FORMAT_H_

#include <vector>

#include "diopi_core/dense.h"
#include "diopi_core/tensor.h"

namespace diopigen::cuda {

// With the channels last, those of one position are contiguous.
enum class MemoryFormat { kChannelsFirst, kChannelsLast };

// An image whose channels are before its `space` last dimensions, with its dimensions in the order of a format.
inline core::View arranged(const core::Tensor& image, int64_t space, MemoryFormat format) {
    const int64_t channel = image.rank - space - 1;
    std::vector<int64_t> order;
    for (int64_t d = 0; d < image.rank; ++d) {
        const int64_t behind = d + 1 < image.rank ? d + 1 : channel;
        order.push_back(format == MemoryFormat::kChannelsFirst || d < channel ? d : behind);
    }
    return core::permuted(image, order);
}

inline bool is_channels_last(const core::Tensor& image, int64_t space) {
    return !is_contiguous(image) && is_contiguous(arranged(image, space, MemoryFormat::kChannelsLast).tensor());
}

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_MEMORY_FORMAT_H_
