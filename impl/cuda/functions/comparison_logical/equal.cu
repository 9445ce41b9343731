// Equal: one answer for all elements, for which the call waits.
#include "comparison_logical/comparison_logical_kernels.h"
#include "diopi_core/promotion.h"
#include "diopi_cuda/flag.h"
#include "diopi_cuda/launch.h"

namespace diopigen::cuda {

namespace {

template <typename T>
void mark_difference(const T* left, const T* right, int64_t count, int* flag) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        if (left[i] != right[i]) {
            *flag = 1;
        }
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

void equal_elements(bool* out, const Tensor& input_tensor, const Tensor& other_tensor) {
    const cuda::Flag differs;
    dispatch_compute<kAny>(promote({input_tensor, other_tensor}), [&](auto sample) {
        using T = decltype(sample);
        const Input<T> left(input_tensor);
        const Input<T> right(other_tensor);
        cuda::mark_difference<T>(left.data(), right.data(), input_tensor.numel, differs.data());
    });
    *out = !differs.is_raised();
}

}  // namespace diopigen::core
