// ForeachnormScalar: the norm of every tensor of a list, in double. The loops.
#include "diopi_cpu/chunks.h"
#include "diopi_cpu/vector_norm.h"
#include "foreach/foreach_kernels.h"

namespace diopigen::core {

using namespace cpu;

namespace {

void norm_of_all(const Tensor& result_tensor, const Tensor& vector, double order) {
    dispatch_compute<kFloating | kComplex>(vector.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> data(vector);
        const Output<Real<T>> result(result_tensor);
        dispatch_norm(order, [&](auto reducer) {
            const std::vector<double> found = reduce_rows(
                1, vector.numel, reducer.identity(),
                [&](double sum, int64_t /*row*/, int64_t i) { return reducer.add(sum, size_of_element(data[i])); },
                [&](double a, double b) { return reducer.join(a, b); });
            result[0] = cast<Real<T>>(reducer.finish(found[0]));
        });
        result.store();
    });
}

}  // namespace

void norms_of_all(const std::vector<Tensor>& results, const std::vector<Tensor>& vectors, double order) {
    for (size_t k = 0; k < vectors.size(); ++k) {
        norm_of_all(results[k], vectors[k], order);
    }
}

}  // namespace diopigen::core
