#include <diopigen_torch/call.h>
#include <diopigen_torch/scales.h>

namespace diopigen::backend {

void require_own_scales(at::IntArrayRef input, at::IntArrayRef output,
                        std::initializer_list<std::optional<double>> scales) {
    size_t dim = 0;
    for (const std::optional<double>& scale : scales) {
        const auto ratio = static_cast<float>(input[dim + 2]) / static_cast<float>(output[dim]);
        // PyTorch computes positions from a float.
        if (scale.has_value() && *scale > 0 && static_cast<float>(1.0 / *scale) != ratio) {
            fall_back("a scale apart from the sizes");
        }
        ++dim;
    }
}

}  // namespace diopigen::backend
