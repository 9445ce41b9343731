// diopiHostDescribeTensor over the tensors of the host runtime, which does not have it yet. A runtime that kept the two
// bits of a layout from the start would answer quicker.
#include <diopigen/adaptor/geometry.h>
#include <diopigen/adaptor/host_services.h>

#include <algorithm>

#include "layout.h"
#include "tensor.h"

extern "C" std::uint32_t diopiHostDescribeTensor(diopiConstTensorHandle_t tensor) {
    namespace adaptor = diopigen::adaptor;
    if (tensor == nullptr || tensor->isSparse()) {
        return 1U << 31;
    }
    const std::vector<std::int64_t>& sizes = tensor->layout.size;
    const diopiSize_t size{sizes.data(), static_cast<std::int64_t>(sizes.size())};
    const diopiSize_t stride{tensor->layout.stride.data(), size.len};
    std::uint32_t formats = 0;
    if (adaptor::isPlainRowMajor(size, stride)) {
        formats = adaptor::rowMajor;
    } else if (adaptor::isEmpty(size)) {
        formats = adaptor::rowMajor | adaptor::channelsLast;
    } else {
        formats |= adaptor::isRowMajor(size, stride) ? adaptor::rowMajor : 0;
        formats |= adaptor::isChannelsLast(size, stride) ? adaptor::channelsLast : 0;
    }
    return static_cast<std::uint32_t>(tensor->dtype) | static_cast<std::uint32_t>(size.len) << 8 | formats << 16;
}
