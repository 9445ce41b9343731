// ClipGradNorm: the joint norm of all gradients in double, then one factor on all of them.
#include <diopi/functions.h>

#include <cmath>

#include "diopi_cpu/chunks.h"
#include "diopi_cpu/lists.h"
#include "diopi_cpu/vector_norm.h"
#include "diopi_cpu/words.h"

using namespace diopi::cpu;

namespace {

double joint_norm(const std::vector<Tensor>& tensors, double order) {
    int64_t count = 0;
    for (const Tensor& tensor : tensors) {
        count += tensor.numel;
    }
    if (count == 0) {
        return 0;
    }
    double norm = 0;
    dispatch_norm(order, [&](auto fold) {
        double value = fold.identity();
        for (const Tensor& tensor : tensors) {
            dispatch_compute<kFloating>(tensor.dtype, [&](auto sample) {
                const Input<decltype(sample)> data(tensor);
                const std::vector<double> found = fold_rows(
                    1, tensor.numel, fold.identity(),
                    [&](double sum, int64_t /*row*/, int64_t i) { return fold.add(sum, size_of_element(data[i])); },
                    [&](double a, double b) { return fold.join(a, b); });
                value = fold.join(value, found[0]);
            });
        }
        norm = fold.finish(value);
    });
    return norm;
}

}  // namespace

DIOPI_API diopiError_t diopiClipGradNorm(diopiContextHandle_t /*ctx*/, double* out, diopiTensorHandle_t* grads,
                                         int64_t num_grads, double max_norm, double norm_type,
                                         bool error_if_nonfinite) {
    return guarded("diopiClipGradNorm", [&] {
        require(out != nullptr, "parameter 'out' is null");
        const std::vector<Tensor> gradients = tensor_list("grads", grads, "num_grads", num_grads, kFloating);
        require_apart(gradients);
        const double norm = joint_norm(gradients, norm_type);
        require(!error_if_nonfinite || std::isfinite(norm),
                "parameter 'grads' has a joint norm that is not finite, and 'error_if_nonfinite' is true");
        const double factor = max_norm / (norm + 1e-6);
        // Not (factor < 1), so that NaN enters the gradients.
        for (size_t k = 0; k < gradients.size() && !(factor >= 1); ++k) {
            dispatch_compute<kFloating>(gradients[k].dtype, [&](auto sample) {
                using T = decltype(sample);
                const Changed changed(gradients[k], dtype_of<T>);
                T* data = changed.as<T>();
                parallel_for(gradients[k].numel, 16384, [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) {
                        data[i] = static_cast<T>(static_cast<double>(data[i]) * factor);
                    }
                });
                changed.store();
            });
        }
        *out = norm;
    });
}
