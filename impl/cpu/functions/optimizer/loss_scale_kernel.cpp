// Mixed precision: AmpUpdateScaleInp and AmpForeachNonFiniteCheckAndUnscaleInp. The loops.
#include <atomic>
#include <cmath>

#include "diopi_core/math.h"
#include "diopi_core/raw_elements.h"
#include "optimizer/optimizer_kernels.h"

namespace diopigen::core {

void update_scale(const Tensor& scale_tensor, const Tensor& tracker_tensor, const Tensor& found_tensor,
                  double scale_growth_factor, double scale_backoff_factor, int32_t growth_interval) {
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
}

void unscale(const std::vector<Tensor>& gradients, const Tensor& found_tensor, const Tensor& scale_tensor) {
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
}

}  // namespace diopigen::core
