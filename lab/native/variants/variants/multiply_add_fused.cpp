// Sums of a number and a product with one rounding, as compilers contract them.
#include <cmath>

#include "../elementwise.h"

namespace diopigen::variants {

namespace {

bool compute(Work& work) {
    if (work.call().hasPrefix("Add") && !work.call().hasPrefix("Addc")) {
        return elementwise(work, {"input", "other"}, [&](auto x, auto y) {
            return std::fma(static_cast<decltype(x)>(work.number("alpha", 1)), y, x);
        });
    }
    return elementwise(work, {"input", "tensor1", "tensor2"}, [&](auto x, auto one, auto two) {
        using T = decltype(x);
        return std::fma(static_cast<T>(work.number("value", 1)) * one, two, x);
    });
}

const Registration registration("multiply-add", {{"multiply-add-fused", "a product is added with one rounding",
                                                  named("Add AddInp Addcmul AddcmulInp"), replaced(compute)}});

}  // namespace

}  // namespace diopigen::variants
