// Products whose every term is added by a fused multiply-add, one after another.
#include <cmath>

#include "../products.h"

namespace diopigen::variants {

namespace {

struct Fused {
    template <typename T>
    T operator()(const std::vector<T>& a, const std::vector<T>& b) const {
        T sum = 0;
        for (size_t k = 0; k < a.size(); ++k) sum = std::fma(a[k], b[k], sum);
        return sum;
    }
};

const Registration registration("product", {{"products-fused", "a matrix product is a chain of fused multiply-adds",
                                             named("Mm Bmm Linear Addmm Baddbmm"),
                                             replaced([](Work& work) { return multiply(work, Fused()); })}});

}  // namespace

}  // namespace diopigen::variants
