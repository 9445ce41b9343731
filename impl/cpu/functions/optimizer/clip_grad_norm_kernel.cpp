// ClipGradNorm: the joint norm of all gradients in double, then one factor on all of them. The loops.
#include <cmath>

#include "diopi_core/raw_elements.h"
#include "diopi_cpu/chunks.h"
#include "diopi_cpu/vector_norm.h"
#include "optimizer/optimizer_kernels.h"

namespace diopigen::core {

using namespace cpu;

double joint_norm(const std::vector<Tensor>& tensors, double order) {
    int64_t count = 0;
    for (const Tensor& tensor : tensors) {
        count += tensor.numel;
    }
    if (count == 0) {
        return 0;
    }
    double norm = 0;
    dispatch_norm(order, [&](auto reducer) {
        double value = reducer.identity();
        for (const Tensor& tensor : tensors) {
            dispatch_compute<kFloating>(tensor.dtype, [&](auto sample) {
                const Input<decltype(sample)> data(tensor);
                const std::vector<double> found = reduce_rows(
                    1, tensor.numel, reducer.identity(),
                    [&](double sum, int64_t /*row*/, int64_t i) { return reducer.add(sum, size_of_element(data[i])); },
                    [&](double a, double b) { return reducer.join(a, b); });
                // Of order 0 a gradient counts once, as the norm of the norms does.
                value = reducer.join(value, order == 0 ? static_cast<double>(found[0] != 0) : found[0]);
            });
        }
        norm = reducer.finish(value);
    });
    return norm;
}

void scale_all(const std::vector<Tensor>& gradients, double factor) {
    for (size_t k = 0; k < gradients.size(); ++k) {
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
}

}  // namespace diopigen::core
