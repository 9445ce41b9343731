// Im2Col and Col2Im. The loops.
#include <algorithm>

#include "diopi_core/dense.h"
#include "diopi_core/unfold.h"
#include "resample/resample_kernels.h"

namespace diopigen::core {

void unfold_images(const Tensor& out_tensor, const Tensor& input_tensor, const Sliding& sliding, int64_t channels) {
    dispatch<kFloating | kComplex | kBool>(input_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Output<T> y(out_tensor);
        const int64_t batch = input_tensor.rank == 4 ? input_tensor.shape[0] : 1;
        for (int64_t n = 0; n < batch; ++n) {
            unfold(sliding, channels, x.data() + n * channels * volume(sliding.size),
                   y.data() + n * channels * volume(sliding.window.kernel) * volume(sliding.positions),
                   volume(sliding.positions));
        }
        y.store();
    });
}

void fold_images(const Tensor& out_tensor, const Tensor& input_tensor, const Sliding& sliding, int64_t channels,
                 int64_t elements) {
    dispatch_compute<kFloating | kComplex>(input_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Output<T> y(out_tensor);
        std::fill_n(y.data(), out_tensor.numel, T(0));
        const int64_t batch = input_tensor.rank == 3 ? input_tensor.shape[0] : 1;
        for (int64_t n = 0; n < batch; ++n) {
            fold(sliding, channels, x.data() + n * elements * volume(sliding.positions),
                 y.data() + n * channels * volume(sliding.size));
        }
        y.store();
    });
}

}  // namespace diopigen::core
