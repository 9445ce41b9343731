// Operators over lists of tensors that are more than a loop: norms, mixed precision, clipping.
#include <cmath>
#include <vector>

#include "diopi_core/math.h"
#include "diopi_core/raw_elements.h"
#include "diopi_cuda/launch.h"
#include "foreach/kernels.h"
#include "optimizer/kernels.h"
#include "reduction/kernels.h"

namespace diopi::cuda {

namespace {

template <typename T>
void unscale(T* gradient, int64_t count, const float* factor, float* found) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        if (!isfinite(gradient[i])) {
            *found = 1;
        }
        gradient[i] = gradient[i] * static_cast<T>(*factor);
    });
}

void update(float* factor, Int32* steps, const float* found, double growth, double backoff, int32_t interval) {
    for_each(1, [=] DIOPI_KERNEL(int64_t) {
        if (*found != 0) {
            *factor = static_cast<float>(static_cast<double>(*factor) * backoff);
            *steps = Int32(0);
            return;
        }
        *steps = *steps + Int32(1);
        if (*steps == Int32(interval)) {
            const auto grown = static_cast<float>(static_cast<double>(*factor) * growth);
            *factor = isfinite(grown) ? grown : *factor;
            *steps = Int32(0);
        }
    });
}

template <typename T>
void scale(T* data, int64_t count, double factor) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) { data[i] = static_cast<T>(static_cast<double>(data[i]) * factor); });
}

Rows all_of(const Tensor& tensor) { return rows_over(tensor, "input", diopiSize_t{nullptr, 0}); }

}  // namespace

}  // namespace diopi::cuda

namespace diopi::core {

void norm_of_all(const Tensor& result_tensor, const Tensor& vector, double order) {
    vector_norms(result_tensor, vector, cuda::all_of(vector), order);
}

void update_scale(const Tensor& scale_tensor, const Tensor& tracker_tensor, const Tensor& found_tensor,
                  double scale_growth_factor, double scale_backoff_factor, int32_t growth_interval) {
    const Changed scale(scale_tensor, Dtype::kFloat32);
    const Changed tracker(tracker_tensor, Dtype::kInt32);
    const Input<float> found(found_tensor);
    cuda::update(scale.as<float>(), tracker.as<Int32>(), found.data(), scale_growth_factor, scale_backoff_factor,
                 growth_interval);
    scale.store();
    tracker.store();
}

void unscale(const std::vector<Tensor>& gradients, const Tensor& found_tensor, const Tensor& scale_tensor) {
    const Input<float> factor(scale_tensor);
    const Changed found(found_tensor, Dtype::kFloat32);
    for (const Tensor& gradient : gradients) {
        dispatch_compute<kFloating>(gradient.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Changed changed(gradient, dtype_of<T>);
            cuda::unscale<T>(changed.as<T>(), gradient.numel, factor.data(), found.as<float>());
            changed.store();
        });
    }
    found.store();
}

// The norms of the tensors are those of one vector, whose norm is asked for.
double joint_norm(const std::vector<Tensor>& tensors, double order) {
    Buffer memory;
    memory.allocate(static_cast<int64_t>(tensors.size() * sizeof(double)));
    std::vector<double> norms;
    for (const Tensor& tensor : tensors) {
        if (tensor.numel > 0) {
            Tensor one;
            one.data = static_cast<double*>(memory.data()) + norms.size();
            one.dtype = Dtype::kFloat64;
            one.numel = 1;
            one.device = tensor.device;
            vector_norms(one, tensor, cuda::all_of(tensor), order);
            norms.push_back(0);
        }
    }
    if (norms.empty()) {
        return 0;
    }
    cuda::read_back(norms.data(), memory.data(), norms.size() * sizeof(double));
    double result = std::isinf(order) ? norms[0] : 0;
    for (const double norm : norms) {
        if (std::isinf(order)) {
            result = order > 0 ? maximum(result, norm) : minimum(result, norm);
        } else {
            result += order == 0 || order == 1 ? norm : std::pow(norm, order);
        }
    }
    return std::isinf(order) || order == 0 || order == 1 ? result : std::pow(result, 1 / order);
}

void scale_all(const std::vector<Tensor>& gradients, double factor) {
    for (const Tensor& gradient : gradients) {
        dispatch_compute<kFloating>(gradient.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Changed changed(gradient, dtype_of<T>);
            cuda::scale<T>(changed.as<T>(), gradient.numel, factor);
            changed.store();
        });
    }
}

}  // namespace diopi::core
