// Bernoulli in its three forms: 1 where a number drawn from [0, 1) is below the probability, so that 0 never and 1
// always gives 1. The loops.
#include "random/draw.h"
#include "random/kernels.h"

namespace diopi::core {

void draw_coins(const Tensor& out, const Tensor& chances, diopiGeneratorHandle_t generator, const char* rule) {
    const Input<double> chance(chances);
    require(holds_of_all(chance.data(), chances.numel, [](double p) { return (p >= 0) & (p <= 1); }), rule);
    draw<Bool>(out, generator, [&](int64_t i, const Words& words) { return Bool(unit(words, 0) < chance[i]); });
}

void draw_coins(const Tensor& target, double p, diopiGeneratorHandle_t generator) {
    draw<Bool>(target, generator, [p](int64_t, const Words& words) { return Bool(unit(words, 0) < p); });
}

}  // namespace diopi::core
