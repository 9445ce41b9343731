// Norms by Welford's running mean and sum of squares.
#include "../normalization.h"

namespace diopigen::variants {

namespace {

struct Welford {
    template <typename T>
    Moments<T> operator()(const std::vector<T>& row) const {
        T mean = 0, squares = 0, count = 0;
        for (const T x : row) {
            const T distance = x - mean;
            mean += distance / ++count;
            squares += distance * (x - mean);
        }
        return {mean, squares / count};
    }
};

const Registration registration("norm",
                                {{"variance-by-welford", "a norm updates mean and sum of squares with each element",
                                  named("LayerNorm GroupNorm BatchNormStats"), replaced([](Work& work) {
                                      return normalize(work, Welford(), [](auto x) { return 1 / std::sqrt(x); });
                                  })}});

}  // namespace

}  // namespace diopigen::variants
