// Softmax along the middle one of three dimensions: along the last one whole rows are taken, along others strips of
// columns. Sums are kept in double.
#include "activation/kernels.h"
#include "softmax_rows.h"

namespace diopi::core {

using namespace cpu;

namespace {

template <typename Kernel>
void apply(SoftmaxKind kind, const Tensor& out, const Tensor& first_tensor, const Tensor& second_tensor,
           const Around& place) {
    dispatch_compute<kFloating>(softmax_dtype(out, first_tensor), [&](auto sample) {
        using T = decltype(sample);
        const Input<T> a(first_tensor);
        const Input<T> b(is_gradient(kind) ? second_tensor : Tensor());
        const Output<T> result(out);
        const int64_t size = place.size;
        const T* last = b ? b.data() : a.data();
        if (size > 0 && place.inner == 1) {
            parallel_for(place.outer, row_grain(4 * size), [&](int64_t begin, int64_t end) {
                const int64_t first = begin * size;
                Kernel::rows(result.data() + first, a.data() + first, last + first, size, end - begin);
            });
        } else if (size > 0) {
            const int64_t strips = (place.inner + kSoftmaxWidth - 1) / kSoftmaxWidth;
            const int64_t width = std::min(place.inner, kSoftmaxWidth);
            parallel_for(place.outer * strips, row_grain(4 * size * width), [&](int64_t begin, int64_t end) {
                for (int64_t part = begin; part < end; ++part) {
                    const int64_t column = part % strips * kSoftmaxWidth;
                    const int64_t first = part / strips * size * place.inner + column;
                    Kernel::columns(result.data() + first, a.data() + first, last + first, place.inner, size,
                                    std::min(kSoftmaxWidth, place.inner - column));
                }
            });
        }
        result.store();
    });
}

}  // namespace

void softmax(SoftmaxKind kind, const Tensor& out, const Tensor& first, const Tensor& second, const Around& place) {
    switch (kind) {
        case SoftmaxKind::kSoftmax:
            return apply<Softmax>(kind, out, first, second, place);
        case SoftmaxKind::kLogSoftmax:
            return apply<LogSoftmax>(kind, out, first, second, place);
        case SoftmaxKind::kSoftmaxGradient:
            return apply<SoftmaxGradient>(kind, out, first, second, place);
        case SoftmaxKind::kLogSoftmaxGradient:
            return apply<LogSoftmaxGradient>(kind, out, first, second, place);
    }
}

}  // namespace diopi::core
