// Softmax along the middle one of three dimensions: along the last one full rows are taken, along others strips of
// columns. Sums are accumulated in double.
#include "activation/activation_kernels.h"
#include "softmax_rows.h"

namespace diopigen::core {

using namespace cpu;

namespace {

template <typename Kernel>
void apply(SoftmaxKind kind, const Tensor& out, const Tensor& first_tensor, const Tensor& second_tensor,
           const DimSplit& split) {
    dispatch_compute<kFloating>(softmax_dtype(out, first_tensor), [&](auto sample) {
        using T = decltype(sample);
        const Input<T> a(first_tensor);
        const Input<T> b(is_gradient(kind) ? second_tensor : Tensor());
        const Output<T> result(out);
        const int64_t size = split.size;
        const T* last = b ? b.data() : a.data();
        if (size > 0 && split.inner == 1) {
            parallel_for(split.outer, row_grain(4 * size), [&](int64_t begin, int64_t end) {
                const int64_t first = begin * size;
                Kernel::rows(result.data() + first, a.data() + first, last + first, size, end - begin);
            });
        } else if (size > 0) {
            const int64_t strips = (split.inner + kSoftmaxWidth - 1) / kSoftmaxWidth;
            const int64_t width = std::min(split.inner, kSoftmaxWidth);
            parallel_for(split.outer * strips, row_grain(4 * size * width), [&](int64_t begin, int64_t end) {
                for (int64_t part = begin; part < end; ++part) {
                    const int64_t column = part % strips * kSoftmaxWidth;
                    const int64_t first = part / strips * size * split.inner + column;
                    Kernel::columns(result.data() + first, a.data() + first, last + first, split.inner, size,
                                    std::min(kSoftmaxWidth, split.inner - column));
                }
            });
        }
        result.store();
    });
}

}  // namespace

void softmax_along(SoftmaxKind kind, const Tensor& out, const Tensor& first, const Tensor& second,
                   const DimSplit& split) {
    switch (kind) {
        case SoftmaxKind::kSoftmax:
            return apply<Softmax>(kind, out, first, second, split);
        case SoftmaxKind::kLogSoftmax:
            return apply<LogSoftmax>(kind, out, first, second, split);
        case SoftmaxKind::kSoftmaxGradient:
            return apply<SoftmaxGradient>(kind, out, first, second, split);
        case SoftmaxKind::kLogSoftmaxGradient:
            return apply<LogSoftmaxGradient>(kind, out, first, second, split);
    }
}

}  // namespace diopigen::core
