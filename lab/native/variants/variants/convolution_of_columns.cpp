// Convolution as a product of matrices: windows become columns with the channels innermost, and blocks of 32 terms are
// added up apart.
#include <algorithm>

#include "../convolution.h"
#include "../sums.h"

namespace diopigen::variants {

namespace {

bool compute(Work& work) {
    return inAccumulateType(work.dtype("input"), [&](auto zero) {
        using T = decltype(zero);
        const Convolution<T> c(work);
        if (!c.usable()) return false;
        std::vector<T> out;
        for (int64_t i = 0; i < countOf(c.shape); ++i) {
            const int64_t column = i % c.shape[3], row = i / c.shape[3] % c.shape[2];
            const int64_t filter = i / c.shape[3] / c.shape[2] % c.shape[1],
                          image = i / c.shape[3] / c.shape[2] / c.shape[1];
            T sum = 0;
            std::vector<T> block;
            for (int64_t r = 0; r < c.weight.size(2); ++r) {
                for (int64_t s = 0; s < c.weight.size(3); ++s) {
                    for (int64_t k = 0; k < c.channels(); ++k) {
                        const T x = c.at(image, c.firstChannel(filter) + k,
                                         row * c.stride[0] - c.padding[0] + r * c.dilation[0],
                                         column * c.stride[1] - c.padding[1] + s * c.dilation[1]);
                        block.push_back(x * c.weightAt(filter, k, r, s));
                        if (block.size() < 32) continue;
                        sum += ByLanes()(block);
                        block.clear();
                    }
                }
            }
            out.push_back(sum + ByLanes()(block) + c.biasOf(filter));
        }
        return work.write("out", out);
    });
}

const Registration registration("convolution",
                                {{"convolution-of-columns", "a convolution is a product with columns of windows",
                                  named("Convolution2d"), replaced(compute)}});

}  // namespace

}  // namespace diopigen::variants
