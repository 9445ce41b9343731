// ForeachnormScalar: the norm of every tensor of a list, in double.
#include <diopi/functions.h>

#include "diopi_cpu/chunks.h"
#include "diopi_cpu/lists.h"
#include "diopi_cpu/vector_norm.h"
#include "kernels.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiForeachnormScalar(diopiContextHandle_t ctx, diopiTensorHandle_t* outs,
                                              diopiConstTensorHandle_t* inputs, int64_t inputSize,
                                              const diopiScalar_t* ord) {
    return guarded("diopiForeachnormScalar", ctx, [&] {
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
            norm_of_all(results[k], vectors[k], order);
        }
    });
}
