// Which windows a pooling has.
#include "pooling.h"

namespace diopi::cpu {

namespace {

Pooling pooling_over(const Tensor& input, int space) {
    Pooling pooling;
    pooling.size = space_of(input, space);
    for (int64_t i = 0; i < input.rank - space; ++i) {
        pooling.planes *= input.shape[i];
    }
    return pooling;
}

}  // namespace

Window pool_window(int space, const char* kernel_name, diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding,
                   const diopiSize_t* dilation) {
    Window window;
    window.kernel = entries("C2", kernel_name, kernel_size, space, 1, 1);
    window.step = stride.len == 0 ? window.kernel : entries("C2", "stride", stride, space, 1, 1);
    if (dilation != nullptr) {
        window.spread = entries("C2", "dilation", *dilation, space, 1, 1);
    }
    window.pad = entries("C3", "padding", padding, space, 0, 0);
    for (int k = 0; k < kSpace; ++k) {
        require(2 * window.pad[k] <= window.extent(k),
                "C3: parameter 'padding' must not be above half of the dilated window");
    }
    return window;
}

Pooling sliding_pool(const Tensor& input, int space, const Window& window, bool ceil_mode, const char* fits) {
    Pooling pooling = pooling_over(input, space);
    pooling.window = window;
    for (int k = 0; k < kSpace; ++k) {
        const int64_t size = pooling.size[k];
        const int64_t pad = window.pad[k];
        const int64_t step = window.step[k];
        const int64_t extent = window.extent(k);
        const int64_t room = size + 2 * pad - extent + (ceil_mode ? step - 1 : 0);
        int64_t count = room < 0 ? 0 : room / step + 1;
        if (ceil_mode && count > 0 && (count - 1) * step >= size + pad) {
            --count;
        }
        if (count <= 0) {
            fail(std::string(fits) + ": parameter 'input': at least one window must fit into the padded input");
        }
        pooling.windows[k] = count;
    }
    return pooling;
}

Pooling adaptive_pool(const Tensor& input, int space, const Triple& windows) {
    Pooling pooling = pooling_over(input, space);
    pooling.windows = windows;
    pooling.is_adaptive = true;
    return pooling;
}

void require_pooled(const Tensor& pooled, const Tensor& input, int space, const Pooling& pooling) {
    require_same_dtype(pooled, input);
    require_shape(pooled, with_space(input, pooling.windows, space));
}

}  // namespace diopi::cpu
