// The logistic function and SiLU by the reciprocal of 1 + exp(-x).
#include <cmath>

#include "../elementwise.h"

namespace diopigen::variants {

namespace {

bool compute(Work& work) {
    const bool weighted = work.call().hasPrefix("Silu");
    return elementwise(work, {"input"}, [&](auto x) {
        using T = decltype(x);
        const T reciprocal = 1 / (1 + std::exp(-x));
        return weighted ? x * reciprocal : reciprocal;
    });
}

const Registration registration("activation", {{"logistic-by-reciprocal",
                                                "the logistic function is 1 / (1 + exp(-x)), SiLU x times it",
                                                named("Sigmoid SigmoidInp Silu SiluInp"), replaced(compute)}});

}  // namespace

}  // namespace diopigen::variants
