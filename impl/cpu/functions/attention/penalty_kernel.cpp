#include "attention/attention_kernels.h"
#include "attention/operands.h"
#include "diopi_core/cast.h"
#include "diopi_core/dense.h"

namespace diopigen::core::attention {

void require_positive(const Tensor& numbers, const char* message) {
    const Input<double> values(numbers);
    bool are_all = true;
    for (int64_t i = 0; i < numbers.numel; ++i) {
        are_all = are_all && values[i] > 0;
    }
    require(are_all, message);
}

void penalise(const Tensor& logits, const Penalties& penalties) {
    const Input<double> presence(penalties.presence);
    const Input<double> frequency(penalties.frequency);
    const Input<double> repetition(penalties.repetition);
    const std::vector<int64_t> counts = indices(penalties.counts);
    const int64_t vocabulary = logits.shape[1];
    dispatch<kFloating>(logits.dtype, [&](auto sample) {
        using T = decltype(sample);
        for (size_t i = 0; i < penalties.logit_indices.size(); ++i) {
            const int64_t row = penalties.logit_indices[i] / vocabulary;
            const int64_t token = penalties.logit_indices[i] % vocabulary;
            const auto at = penalties.rows.empty() ? static_cast<int64_t>(i) : penalties.rows[i];
            T& logit = logits.elements<T>()[row * logits.strides[0] + token * logits.strides[1]];
            auto value = cast<double>(logit);
            if (repetition) {
                value = value > 0 ? value / repetition[at] : value * repetition[at];
            }
            logit = cast<T>(value - (presence[at] + frequency[at] * static_cast<double>(counts[i])));
        }
    });
}

}  // namespace diopigen::core::attention
