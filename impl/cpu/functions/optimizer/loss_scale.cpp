// Mixed precision: AmpUpdateScaleInp and AmpForeachNonFiniteCheckAndUnscaleInp.
#include <diopi/functions.h>

#include <atomic>
#include <cmath>

#include "diopi_cpu/lists.h"
#include "diopi_cpu/math.h"
#include "diopi_cpu/words.h"

using namespace diopi::cpu;

namespace {

void require_one_element(const Tensor& tensor) {
    if (tensor.numel != 1) {
        fail(std::string("parameter '") + tensor.name + "' has " + std::to_string(tensor.numel) +
             " elements instead of one");
    }
}

}  // namespace

DIOPI_API diopiError_t diopiAmpUpdateScaleInp(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t current_scale,
                                              diopiTensorHandle_t growth_tracker, diopiConstTensorHandle_t found_inf,
                                              double scale_growth_factor, double scale_backoff_factor,
                                              int32_t growth_interval) {
    return guarded("diopiAmpUpdateScaleInp", [&] {
        const Tensor scale_tensor = tensor("current_scale", current_scale, kFloat32);
        const Tensor tracker_tensor = tensor("growth_tracker", growth_tracker, kInt32);
        const Tensor found_tensor = tensor("found_inf", found_inf, kFloat32);
        for (const Tensor* one : {&scale_tensor, &tracker_tensor, &found_tensor}) {
            require_one_element(*one);
        }
        require_one_device({&scale_tensor, &tracker_tensor, &found_tensor});
        require_disjoint(scale_tensor, tracker_tensor);
        require_disjoint(scale_tensor, found_tensor);
        require_disjoint(tracker_tensor, found_tensor);
        const Changed scale(scale_tensor, Dtype::kFloat32);
        const Changed tracker(tracker_tensor, Dtype::kInt32);
        auto* factor = scale.as<float>();
        auto* steps = tracker.as<Int32>();
        if (Input<float>(found_tensor)[0] != 0) {
            *factor = static_cast<float>(double{*factor} * scale_backoff_factor);
            *steps = Int32(0);
        } else {
            *steps = *steps + Int32(1);
            if (*steps == Int32(growth_interval)) {
                const auto grown = static_cast<float>(double{*factor} * scale_growth_factor);
                *factor = std::isfinite(grown) ? grown : *factor;
                *steps = Int32(0);
            }
        }
        scale.store();
        tracker.store();
    });
}

DIOPI_API diopiError_t diopiAmpForeachNonFiniteCheckAndUnscaleInp(diopiContextHandle_t /*ctx*/,
                                                                  diopiTensorHandle_t* scaled_grads,
                                                                  int64_t num_scaled_grads,
                                                                  diopiTensorHandle_t found_inf,
                                                                  diopiConstTensorHandle_t inv_scale) {
    return guarded("diopiAmpForeachNonFiniteCheckAndUnscaleInp", [&] {
        const std::vector<Tensor> gradients =
            tensor_list("scaled_grads", scaled_grads, "num_scaled_grads", num_scaled_grads, kFloating);
        const Tensor found_tensor = tensor("found_inf", found_inf, kFloat32);
        const Tensor scale_tensor = tensor("inv_scale", inv_scale, kFloat32);
        require_one_element(found_tensor);
        require_one_element(scale_tensor);
        require_apart(gradients);
        require_disjoint(found_tensor, scale_tensor);
        require_one_device({&found_tensor, &scale_tensor});
        for (const Tensor& gradient : gradients) {
            require_one_device({&found_tensor, &scale_tensor, &gradient});
            require_disjoint(gradient, found_tensor);
            require_disjoint(gradient, scale_tensor);
        }
        const float factor = Input<float>(scale_tensor)[0];
        std::atomic<bool> overflows{false};
        for (const Tensor& gradient : gradients) {
            dispatch_compute<kFloating>(gradient.dtype, [&](auto sample) {
                using T = decltype(sample);
                const Changed changed(gradient, dtype_of<T>);
                T* data = changed.as<T>();
                parallel_for(gradient.numel, 16384, [&](int64_t begin, int64_t end) {
                    bool all_finite = true;
                    for (int64_t i = begin; i < end; ++i) {
                        all_finite = all_finite && std::isfinite(data[i]);
                        data[i] = data[i] * static_cast<T>(factor);
                    }
                    if (!all_finite) {
                        overflows = true;
                    }
                });
                changed.store();
            });
        }
        if (overflows) {
            fill(found_tensor, Number::of(1));
        }
    });
}
