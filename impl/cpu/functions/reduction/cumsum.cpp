// Cumsum and its gradient, which runs from the end. Sums are kept in double, complex<double> or int64 (which wraps).
#include <diopi/functions.h>

#include "diopi_cpu/reduction.h"

using namespace diopi::cpu;

namespace {

enum class Direction { kForward, kBackward };

void running_sums(const Tensor& out, const Tensor& input, const char* name, int64_t dim, Direction direction) {
    const Rows rows = rows_over(input, name, &dim);
    require_same_shape(out, input);
    require_one_device({&out, &input});
    require_no_overlap(out);
    require_no_overlap(out, input);
    const View source = permuted(input, rows.order());
    const View target = permuted(out, rows.order());
    dispatch_compute<kAny>(input.dtype, [&](auto sample) {
        using A = Accumulator<decltype(sample)>;
        using T = decltype(sample);
        using R = std::conditional_t<dtype_of<A> == Dtype::kInt64, Int64, T>;
        const Input<T> data(source.tensor());
        const Output<R> result(target.tensor());
        parallel_for(rows.count, row_grain(rows.length), [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
                const T* from = data.data() + row * rows.length;
                R* to = result.data() + row * rows.length;
                A sum(0);
                for (int64_t i = 0; i < rows.length; ++i) {
                    const int64_t at = direction == Direction::kForward ? i : rows.length - 1 - i;
                    sum = sum + cast<A>(from[at]);
                    to[at] = cast<R>(sum);
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
