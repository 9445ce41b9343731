// Cumsum and its gradient, which runs from the end. Sums are accumulated in double, complex<double> or int64 (which
// wraps). The loops.
#include "diopi_core/clones.h"
#include "diopi_core/raw_elements.h"
#include "reduction/reduction_kernels.h"

namespace diopigen::core {

namespace {

// The sums of each of some columns, row by row.
template <typename A, typename T, typename R>
DIOPI_CPU_CLONES void sum_columns(A* __restrict sums, int64_t width, const T* from, R* to, int64_t stride,
                                  int64_t count) {
    std::fill_n(sums, width, A(0));
    for (int64_t i = 0; i < count; ++i) {
        for (int64_t k = 0; k < width; ++k) {
            sums[k] = sums[k] + cast<A>(from[k]);
            to[k] = cast<R>(sums[k]);
        }
        from += stride;
        to += stride;
    }
}

template <typename A, typename T, typename R>
void sum_row(const T* from, R* to, int64_t stride, int64_t count) {
    A sum(0);
    for (int64_t i = 0; i < count; ++i) {
        sum = sum + cast<A>(from[i * stride]);
        to[i * stride] = cast<R>(sum);
    }
}

}  // namespace

void running_sums(const Tensor& out, const Tensor& input, const DimSplit& split, bool is_forward) {
    dispatch_compute<kAny>(input.dtype, [&](auto sample) {
        using A = Accumulator<decltype(sample)>;
        using T = decltype(sample);
        using R = std::conditional_t<dtype_of<A> == Dtype::kInt64, Int64, T>;
        constexpr int64_t kWidth = 512;
        const Input<T> data(input);
        const Output<R> result(out);
        const int64_t blocks = (split.inner + kWidth - 1) / kWidth;
        // From the end the rows are walked with a negative stride.
        const int64_t stride = is_forward ? split.inner : -split.inner;
        const int64_t start = is_forward ? 0 : (split.size - 1) * split.inner;
        parallel_for(split.outer * blocks, row_grain(std::min(split.inner, kWidth) * split.size),
                     [&](int64_t begin, int64_t end) {
                         A sums[kWidth];
                         for (int64_t part = begin; part < end; ++part) {
                             const int64_t column = part % blocks * kWidth;
                             const int64_t first = part / blocks * split.size * split.inner + start + column;
                             if (split.inner == 1) {
                                 sum_row<A>(data.data() + first, result.data() + first, stride, split.size);
                             } else {
                                 sum_columns(sums, std::min(kWidth, split.inner - column), data.data() + first,
                                             result.data() + first, stride, split.size);
                             }
                         }
                     });
        result.store();
    });
}

}  // namespace diopigen::core
