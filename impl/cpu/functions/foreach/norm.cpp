// ForeachnormScalar: the norm of every tensor of a list, in double.
#include <diopi/functions.h>

#include "diopi_cpu/chunks.h"
#include "diopi_cpu/lists.h"
#include "diopi_cpu/vector_norm.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiForeachnormScalar(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t* outs,
                                              diopiConstTensorHandle_t* inputs, int64_t inputSize,
                                              const diopiScalar_t* ord) {
    return guarded("diopiForeachnormScalar", [&] {
        const std::vector<Tensor> results = tensor_list("outs", outs, "inputSize", inputSize, kFloating);
        const std::vector<Tensor> vectors = tensor_list("inputs", inputs, "inputSize", inputSize, kFloating | kComplex);
        const double order = scalar("ord", ord, kNumber).value();
        require_apart(results);
        for (size_t k = 0; k < vectors.size(); ++k) {
            require_dtype(results[k], to_real(vectors[k].dtype));
            require_shape(results[k], std::initializer_list<int64_t>{});
            require_one_device({&results[k], &vectors[k]});
            require(vectors[k].numel > 0 || !needs_elements(order),
                    "parameter 'inputs' has an empty tensor, which has no norm of negative or infinite order 'ord'");
            for (const Tensor& result : results) {
                require_disjoint(result, vectors[k]);
            }
        }
        for (size_t k = 0; k < vectors.size(); ++k) {
            dispatch_compute<kFloating | kComplex>(vectors[k].dtype, [&](auto sample) {
                using T = decltype(sample);
                const Input<T> data(vectors[k]);
                const Output<Real<T>> result(results[k]);
                dispatch_norm(order, [&](auto fold) {
                    const std::vector<double> found = fold_rows(
                        1, vectors[k].numel, fold.identity(),
                        [&](double sum, int64_t /*row*/, int64_t i) { return fold.add(sum, size_of_element(data[i])); },
                        [&](double a, double b) { return fold.join(a, b); });
                    result[0] = cast<Real<T>>(fold.finish(found[0]));
                });
                result.store();
            });
        }
    });
}
