// Products that cut the inner dimension into four parts, which several blocks of threads add up on their own.
#include "../products.h"

namespace diopigen::variants {

namespace {

struct Split {
    template <typename T>
    T operator()(const std::vector<T>& a, const std::vector<T>& b) const {
        constexpr size_t kParts = 4;
        T sum = 0;
        for (size_t part = 0; part < kParts; ++part) {
            T own = 0;
            for (size_t k = a.size() * part / kParts; k < a.size() * (part + 1) / kParts; ++k) own += a[k] * b[k];
            sum += own;
        }
        return sum;
    }
};

const Registration registration("product",
                                {{"products-by-split-inner", "a matrix product adds up four parts of its terms apart",
                                  named("Mm Bmm Linear Addmm Baddbmm"),
                                  replaced([](Work& work) { return multiply(work, Split()); })}});

}  // namespace

}  // namespace diopigen::variants
