// Quotients as products with a reciprocal, where the reciprocal is an ordinary number.
#include <cmath>
#include <limits>

#include "../elementwise.h"

namespace diopigen::variants {

namespace {

bool compute(Work& work) {
    if (work.number("rounding_mode") != 0) return false;
    return elementwise(work, {"input", "other"}, [](auto x, auto y) {
        using T = decltype(x);
        const T reciprocal = 1 / y;
        const bool ordinary = std::isnormal(reciprocal) || !std::isfinite(y) || y == 0;
        return ordinary ? x * reciprocal : x / y;
    });
}

const Registration registration("quotient", {{"quotient-by-reciprocal", "a / b is a * (1 / b), with two roundings",
                                              named("Div DivInp"), replaced(compute)}});

}  // namespace

}  // namespace diopigen::variants
