// Pooling of the last one to three dimensions, by windows that slide or that divide the input.
#ifndef DIOPI_CORE_FUNCTIONS_POOLING_POOLING_KERNELS_H_
#define DIOPI_CORE_FUNCTIONS_POOLING_POOLING_KERNELS_H_

#include <cstdint>
#include <optional>

#include "diopi_core/tensor.h"
#include "diopi_core/windows.h"

namespace diopigen::core {

struct Pooling {
    int space = kSpace;  // the last dimensions of the tensors, which windows cover
    int64_t planes = 1;  // batch times channels
    Triple size;         // of a plane
    Triple windows;      // how many there are
    bool is_adaptive = false;
    Window window;  // where it is not adaptive
};

// The arguments of a window. `dilation` may be null for 1.
Window pool_window(int space, const char* kernel_name, diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding,
                   const diopiSize_t* dilation);
// Sliding windows, as many as `pooled` has elements in its last dimensions; the last ones may stick out of the padded
// input.
Pooling sliding_pool(const Tensor& input, const Tensor& pooled, int space, const Window& window);
// As many windows that divide every dimension into nearly equal parts.
Pooling adaptive_pool(const Tensor& input, const Tensor& pooled, int space);

// The maximum of every window, NaN before all. `indices` may be null; it gets the index in the plane of the first of
// equal values, of the last NaN, or -1 where a window holds padding alone.
void max_pool(const Tensor& out, const Tensor& indices, const Tensor& input, const Pooling& pooling);
// `index_message` is the message for an index that is neither -1 nor an index in its plane.
void max_pool_backward(const Tensor& grad_input, const Tensor& grad_output, const Tensor& indices,
                       const Pooling& pooling, const char* index_message);

// What the sum over a window is divided by.
struct Divisor {
    bool has_padding = true;       // whether padding counts
    std::optional<int64_t> fixed;  // in place of a count
};

void avg_pool(const Tensor& out, const Tensor& input, const Pooling& pooling, const Divisor& divisor);
void avg_pool_backward(const Tensor& grad_input, const Tensor& grad_output, const Pooling& pooling,
                       const Divisor& divisor);

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_POOLING_POOLING_KERNELS_H_
