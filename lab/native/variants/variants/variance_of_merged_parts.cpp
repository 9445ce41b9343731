// Norms whose rows are cut into parts with a mean and a sum of squares each, which are merged as Chan, Golub and
// LeVeque do it: what the warps of a GPU and the processes of a synchronized norm do.
#include <algorithm>

#include "../normalization.h"

namespace diopigen::variants {

namespace {

struct Merged {
    template <typename T>
    Moments<T> operator()(const std::vector<T>& row) const {
        constexpr size_t kPart = 5;
        T mean = 0, squares = 0, count = 0;
        for (size_t first = 0; first < row.size(); first += kPart) {
            const size_t end = std::min(first + kPart, row.size());
            const T own = static_cast<T>(end - first);
            T sum = 0, ownSquares = 0;
            for (size_t i = first; i < end; ++i) sum += row[i];
            const T ownMean = sum / own;
            for (size_t i = first; i < end; ++i) ownSquares += (row[i] - ownMean) * (row[i] - ownMean);
            const T distance = ownMean - mean, all = count + own;
            mean += distance * own / all;
            squares += ownSquares + distance * distance * count * own / all;
            count = all;
        }
        return {mean, squares / count};
    }
};

const Registration registration("norm",
                                {{"variance-of-merged-parts", "a norm merges mean and sum of squares of parts of a row",
                                  named("LayerNorm GroupNorm BatchNormStats"), replaced([](Work& work) {
                                      return normalize(work, Merged(), [](auto x) { return 1 / std::sqrt(x); });
                                  })}});

}  // namespace

}  // namespace diopigen::variants
