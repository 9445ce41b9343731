// Products as a unit for matrices forms them: blocks of 16 exact products are added up by a tree and then to the sum.
#include <algorithm>

#include "../products.h"
#include "../sums.h"

namespace diopigen::variants {

namespace {

struct Blocks {
    template <typename T>
    T operator()(const std::vector<T>& a, const std::vector<T>& b) const {
        constexpr size_t kBlock = 16;
        T sum = 0;
        for (size_t first = 0; first < a.size(); first += kBlock) {
            std::vector<T> terms;
            for (size_t k = first; k < std::min(first + kBlock, a.size()); ++k) terms.push_back(a[k] * b[k]);
            sum += ByLanes()(terms);
        }
        return sum;
    }
};

const Registration registration("product",
                                {{"products-of-blocks", "a matrix product adds up blocks of 16 terms by a tree",
                                  named("Mm Bmm Linear Addmm Baddbmm"),
                                  replaced([](Work& work) { return multiply(work, Blocks()); })}});

}  // namespace

}  // namespace diopigen::variants
