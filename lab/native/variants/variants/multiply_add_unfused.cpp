// Sums of a number and a product with a rounding for each operation.
#include "../elementwise.h"

namespace diopigen::variants {

namespace {

bool compute(Work& work) {
    if (work.call().hasPrefix("Add") && !work.call().hasPrefix("Addc")) {
        return elementwise(work, {"input", "other"}, [&](auto x, auto y) {
            using T = decltype(x);
            const volatile T product = static_cast<T>(work.number("alpha", 1)) * y;
            return static_cast<T>(x + product);
        });
    }
    return elementwise(work, {"input", "tensor1", "tensor2"}, [&](auto x, auto one, auto two) {
        using T = decltype(x);
        const volatile T inner = one * two;
        const volatile T product = static_cast<T>(work.number("value", 1)) * inner;
        return static_cast<T>(x + product);
    });
}

const Registration registration("multiply-add", {{"multiply-add-unfused", "a product is rounded before it is added",
                                                  named("Add AddInp Addcmul AddcmulInp"), replaced(compute)}});

}  // namespace

}  // namespace diopigen::variants
