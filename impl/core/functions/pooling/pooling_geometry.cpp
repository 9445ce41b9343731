// Which windows a pooling has.
#include "pooling_kernels.h"

namespace diopigen::core {

namespace {

Pooling pooling_over(const Tensor& input, const Tensor& pooled, int space) {
    require_countable(input);
    require_countable(pooled);
    Pooling pooling;
    pooling.space = space;
    pooling.size = space_of(input, space);
    pooling.windows = space_of(pooled, space);
    for (int64_t i = 0; i < input.rank - space; ++i) {
        pooling.planes *= input.shape[i];
    }
    return pooling;
}

}  // namespace

Window pool_window(int space, const char* kernel_name, diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding,
                   const diopiSize_t* dilation) {
    Window window;
    window.kernel = kernel_entries(kernel_name, kernel_size, space);
    window.stride = stride.len == 0 ? window.kernel : entries("stride", stride, space, 1);
    if (dilation != nullptr) {
        window.spread = entries("dilation", *dilation, space, 1);
    }
    window.pad = entries("padding", padding, space, 0);
    return window;
}

Pooling sliding_pool(const Tensor& input, const Tensor& pooled, int space, const Window& window) {
    Pooling pooling = pooling_over(input, pooled, space);
    pooling.window = window;
    return pooling;
}

Pooling adaptive_pool(const Tensor& input, const Tensor& pooled, int space) {
    Pooling pooling = pooling_over(input, pooled, space);
    pooling.is_adaptive = true;
    return pooling;
}

}  // namespace diopigen::core
