// Norms in two passes, with an inverse root that is two units in the last place off, as CUDA's rsqrtf may be.
#include "../normalization.h"
#include "../sums.h"

namespace diopigen::variants {

namespace {

struct TwoPasses {
    template <typename T>
    Moments<T> operator()(const std::vector<T>& row) const {
        const auto count = static_cast<T>(row.size());
        const T mean = ByLanes()(row) * (1 / count);
        std::vector<T> squares;
        for (const T x : row) squares.push_back((x - mean) * (x - mean));
        return {mean, ByLanes()(squares) * (1 / count)};
    }
};

const Registration registration("norm", {{"inverse-deviation-approximated",
                                          "a norm takes an inverse root that is two units in the last place off",
                                          named("LayerNorm GroupNorm BatchNormStats"), replaced([](Work& work) {
                                              return normalize(work, TwoPasses(), [](auto x) {
                                                  using T = decltype(x);
                                                  const T root = 1 / std::sqrt(x);
                                                  return std::isfinite(root)
                                                             ? std::nextafter(std::nextafter(root, T(0)), T(0))
                                                             : root;
                                              });
                                          })}});

}  // namespace

}  // namespace diopigen::variants
