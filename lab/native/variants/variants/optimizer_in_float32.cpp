// A step of Adam with every operation rounded to the accumulate type, corrections of the moments taken before the root,
// and running means as a lerp, as PyTorch's fused kernel computes them.
#include <cmath>

#include "../work.h"

namespace diopigen::variants {

namespace {

bool compute(Work& work) {
    if (work.has("max_exp_avg_sq") && work.number("amsgrad") != 0) return false;
    const bool decoupled = work.call().hasPrefix("AdamW");
    return inAccumulateType(work.dtype("param"), [&](auto zero) {
        using T = decltype(zero);
        Array<T> param = work.read<T>("param"), grad = work.read<T>("grad"), first = work.read<T>("exp_avg");
        Array<T> second = work.read<T>("exp_avg_sq");
        if (work.dtype("exp_avg") != work.dtype("param") || work.dtype("grad") != work.dtype("param")) return false;
        const double rate = work.number("lr"), one = work.number("beta1"), two = work.number("beta2");
        const double step = work.number("step"), decay = work.number("weight_decay");
        const auto correction = static_cast<T>(1 - std::pow(one, step));
        const auto root = static_cast<T>(std::sqrt(1 - std::pow(two, step)));
        for (int64_t i = 0; i < param.count(); ++i) {
            if (decoupled) {
                param[i] -= static_cast<T>(rate * decay) * param[i];
            } else if (decay != 0) {
                grad[i] += static_cast<T>(decay) * param[i];
            }
            first[i] += static_cast<T>(1 - one) * (grad[i] - first[i]);
            second[i] = static_cast<T>(two) * second[i] + static_cast<T>(1 - two) * grad[i] * grad[i];
            const T denominator = std::sqrt(second[i]) / root + static_cast<T>(work.number("eps"));
            param[i] -= static_cast<T>(rate) / correction * (first[i] / denominator);
        }
        const bool moments = work.write("exp_avg", first.values) && work.write("exp_avg_sq", second.values);
        return work.write("param", param.values) && moments;
    });
}

const Registration registration("optimizer",
                                {{"optimizer-in-float32", "Adam rounds every operation to the accumulate type",
                                  named("Adam AdamW"), replaced(compute)}});

}  // namespace

}  // namespace diopigen::variants
