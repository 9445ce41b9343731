// Mixed precision: AmpUpdateScaleInp and AmpForeachNonFiniteCheckAndUnscaleInp.
#include <diopi/functions.h>

#include <atomic>
#include <cmath>

#include "diopi_cpu/lists.h"
#include "diopi_cpu/math.h"
#include "diopi_cpu/words.h"
#include "kernels.h"

using namespace diopi::cpu;

namespace {

void require_one_element(const Tensor& tensor) {
    if (tensor.numel != 1) {
        fail(std::string("C1: parameter '") + tensor.name + "' has " + std::to_string(tensor.numel) +
             " elements instead of one");
    }
}

}  // namespace

DIOPI_API diopiError_t diopiAmpUpdateScaleInp(diopiContextHandle_t ctx, diopiTensorHandle_t current_scale,
                                              diopiTensorHandle_t growth_tracker, diopiConstTensorHandle_t found_inf,
                                              double scale_growth_factor, double scale_backoff_factor,
                                              int32_t growth_interval) {
    return guarded("diopiAmpUpdateScaleInp", ctx, [&] {
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
        update_scale(scale_tensor, tracker_tensor, found_tensor, scale_growth_factor, scale_backoff_factor,
                     growth_interval);
    });
}

DIOPI_API diopiError_t diopiAmpForeachNonFiniteCheckAndUnscaleInp(diopiContextHandle_t ctx,
                                                                  diopiTensorHandle_t* scaled_grads,
                                                                  int64_t num_scaled_grads,
                                                                  diopiTensorHandle_t found_inf,
                                                                  diopiConstTensorHandle_t inv_scale) {
    return guarded("diopiAmpForeachNonFiniteCheckAndUnscaleInp", ctx, [&] {
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
        unscale(gradients, found_tensor, scale_tensor);
    });
}
