// Cumsum and its gradient, which runs from the end. Sums are kept in double, complex<double> or int64 (which wraps).
#include <diopi/functions.h>

#include "diopi_cpu/clones.h"
#include "diopi_cpu/words.h"

using namespace diopi::cpu;

namespace {

enum class Direction { kForward, kBackward };

// The sums of each of some columns, row by row.
template <typename A, typename T, typename R>
DIOPI_CPU_CLONES void sum_columns(A* __restrict sums, int64_t width, const T* from, R* to, int64_t step,
                                  int64_t count) {
    std::fill_n(sums, width, A(0));
    for (int64_t i = 0; i < count; ++i) {
        for (int64_t k = 0; k < width; ++k) {
            sums[k] = sums[k] + cast<A>(from[k]);
            to[k] = cast<R>(sums[k]);
        }
        from += step;
        to += step;
    }
}

template <typename A, typename T, typename R>
void sum_row(const T* from, R* to, int64_t step, int64_t count) {
    A sum(0);
    for (int64_t i = 0; i < count; ++i) {
        sum = sum + cast<A>(from[i * step]);
        to[i * step] = cast<R>(sum);
    }
}

void running_sums(const Tensor& out, const Tensor& input, const char* name, int64_t dim, Direction direction) {
    const int64_t at = dimension(name, dim, input.rank);
    require_same_shape(out, input);
    require_one_device({&out, &input});
    require_no_overlap(out);
    require_no_overlap(out, input);
    const Around place = around(shape_at_least_1d(input), at);
    dispatch_compute<kAny>(input.dtype, [&](auto sample) {
        using A = Accumulator<decltype(sample)>;
        using T = decltype(sample);
        using R = std::conditional_t<dtype_of<A> == Dtype::kInt64, Int64, T>;
        constexpr int64_t kWidth = 512;
        const Input<T> data(input);
        const Output<R> result(out);
        const int64_t blocks = (place.inner + kWidth - 1) / kWidth;
        // From the end the rows are walked with a step backwards.
        const bool is_forward = direction == Direction::kForward;
        const int64_t step = is_forward ? place.inner : -place.inner;
        const int64_t start = is_forward ? 0 : (place.size - 1) * place.inner;
        parallel_for(place.outer * blocks, row_grain(std::min(place.inner, kWidth) * place.size),
                     [&](int64_t begin, int64_t end) {
                         A sums[kWidth];
                         for (int64_t part = begin; part < end; ++part) {
                             const int64_t column = part % blocks * kWidth;
                             const int64_t first = part / blocks * place.size * place.inner + start + column;
                             if (place.inner == 1) {
                                 sum_row<A>(data.data() + first, result.data() + first, step, place.size);
                             } else {
                                 sum_columns(sums, std::min(kWidth, place.inner - column), data.data() + first,
                                             result.data() + first, step, place.size);
                             }
                         }
                     });
        result.store();
    });
}

}  // namespace

DIOPI_API diopiError_t diopiCumsum(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                   diopiConstTensorHandle_t input, int64_t dim) {
    return guarded("diopiCumsum", [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Dtype dtype = input_tensor.dtype;
        require_castable(out_tensor, is_floating(dtype) || is_complex(dtype) ? dtype : Dtype::kInt64);
        running_sums(out_tensor, input_tensor, "dim", dim, Direction::kForward);
    });
}

DIOPI_API diopiError_t diopiCumsumBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t grad_input,
                                           diopiConstTensorHandle_t grad_output, int64_t dim) {
    return guarded("diopiCumsumBackward", [&] {
        const Tensor grad_input_tensor = tensor("grad_input", grad_input, kFloating | kComplex);
        const Tensor grad_output_tensor = tensor("grad_output", grad_output, kFloating | kComplex);
        require_same_dtype(grad_input_tensor, grad_output_tensor);
        running_sums(grad_input_tensor, grad_output_tensor, "dim", dim, Direction::kBackward);
    });
}
