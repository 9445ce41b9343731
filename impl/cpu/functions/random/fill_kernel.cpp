// RandomInp and UniformInp. The loops.
#include <limits>

#include "random/draw.h"
#include "random/kernels.h"

namespace diopi::core {

void draw_integers(const Tensor& target, int64_t from, uint64_t range, diopiGeneratorHandle_t generator) {
    draw<Int64>(target, generator, [from, range](int64_t, const Words& words) {
        return Int64(static_cast<int64_t>(static_cast<uint64_t>(from) + below(range, words, 0)));
    });
}

void draw_uniform(const Tensor& target, double from, double to, diopiGeneratorHandle_t generator) {
    draw<double>(target, generator,
                 [from, to](int64_t, const Words& words) { return from + (to - from) * unit(words, 0); });
}

}  // namespace diopi::core
