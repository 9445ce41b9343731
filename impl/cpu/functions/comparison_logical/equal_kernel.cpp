// Equal: whether two tensors have one shape and equal elements. The loops.
#include <atomic>

#include "comparison_logical/comparison_logical_kernels.h"
#include "diopi_core/dense.h"
#include "diopi_core/promotion.h"
#include "diopi_core/threads.h"

namespace diopigen::core {

void equal_elements(bool* out, const Tensor& input_tensor, const Tensor& other_tensor) {
    dispatch_compute<kAny>(promote({input_tensor, other_tensor}), [&](auto sample) {
        using T = decltype(sample);
        const Input<T> left(input_tensor);
        const Input<T> right(other_tensor);
        std::atomic<bool> differs{false};
        parallel_for(input_tensor.numel, 65536, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                if (left[i] != right[i]) {
                    differs = true;
                    return;
                }
            }
        });
        *out = !differs;
    });
}

}  // namespace diopigen::core
