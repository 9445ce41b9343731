// GELU with every operation rounded to float32, as a CUDA kernel computes it; the tail by the complementary error
// function.
#include <cmath>

#include "../elementwise.h"

namespace diopigen::variants {

namespace {

bool compute(Work& work) {
    if (work.call().text("approximate").value_or("none") == "tanh") {
        return elementwise(work, {"input"}, [](auto x) {
            using T = decltype(x);
            const T inner = static_cast<T>(0.7978845608028654) * (x + static_cast<T>(0.044715) * x * x * x);
            return static_cast<T>(0.5) * x * (1 + std::tanh(inner));
        });
    }
    return elementwise(work, {"input"}, [](auto x) {
        using T = decltype(x);
        return static_cast<T>(0.5) * x * std::erfc(-x * static_cast<T>(0.7071067811865476));
    });
}

const Registration registration("activation", {{"gelu-in-float32", "GELU rounds every operation to the accumulate type",
                                                named("Gelu"), replaced(compute)}});

}  // namespace

}  // namespace diopigen::variants
