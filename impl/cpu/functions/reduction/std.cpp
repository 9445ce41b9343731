// Std in two passes: the means, then the squared distances from them. Both are summed in double.
#include <diopi/functions.h>

#include <cmath>

#include "checks.h"
#include "diopi_cpu/chunks.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiStd(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                diopiSize_t dim, const diopiScalar_t* correction) {
    return guarded("diopiStd", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating | kComplex);
        const Number correction_number = optional_scalar("correction", correction, kNumber, Number::of(1));
        const Rows rows = rows_over(input_tensor, "dim", dim);
        require_dtype(out_tensor, to_real(input_tensor.dtype));
        check_reduction(out_tensor, input_tensor, rows, KeepDim::kEither);
        const auto length = static_cast<double>(rows.length);
        const double divisor = std::max(length - correction_number.value(), 0.0);
        const View view = permuted(input_tensor, rows.order());
        dispatch_compute<kFloating | kComplex>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            using A = Accumulator<T>;
            const Input<T> data(view.tensor());
            const Output<Real<T>> result(out_tensor);
            const auto plus = [](auto a, auto b) { return a + b; };
            std::vector<A> means = fold_rows(
                rows.count, rows.length, A(0),
                [&](A sum, int64_t /*row*/, int64_t i) { return sum + cast<A>(data[i]); }, plus);
            for (A& mean : means) {
                mean = mean / A(length);
            }
            const std::vector<double> squares = fold_rows(
                rows.count, rows.length, 0.0,
                [&](double sum, int64_t row, int64_t i) {
                    const A distance = cast<A>(data[i]) - means[row];
                    if constexpr (is_complex_type<A>) {
                        return sum + distance.real() * distance.real() + distance.imag() * distance.imag();
                    } else {
                        return sum + distance * distance;
                    }
                },
                plus);
            for (int64_t row = 0; row < rows.count; ++row) {
                result[row] = cast<Real<T>>(std::sqrt(squares[row] / divisor));
            }
            result.store();
        });
    });
}
