// ForeachnormScalar: the norm of every tensor of a list, in double. The loops.
#include "diopi_cpu/chunks.h"
#include "diopi_cpu/vector_norm.h"
#include "foreach/kernels.h"

namespace diopi::core {

using namespace cpu;

void norm_of_all(const Tensor& result_tensor, const Tensor& vector, double order) {
    dispatch_compute<kFloating | kComplex>(vector.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> data(vector);
        const Output<Real<T>> result(result_tensor);
        dispatch_norm(order, [&](auto fold) {
            const std::vector<double> found = fold_rows(
                1, vector.numel, fold.identity(),
                [&](double sum, int64_t /*row*/, int64_t i) { return fold.add(sum, size_of_element(data[i])); },
                [&](double a, double b) { return fold.join(a, b); });
            result[0] = cast<Real<T>>(fold.finish(found[0]));
        });
        result.store();
    });
}

}  // namespace diopi::core
