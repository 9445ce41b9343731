// Bernoulli in its three forms: 1 where a number sampled from [0, 1) is below the probability, so that 0 never and 1
// always gives 1. The loops.
#include "random/random_kernels.h"
#include "random/sample.h"

namespace diopigen::core {

void sample_bernoulli(const Tensor& out, const Tensor& chances, diopiGeneratorHandle_t generator, const char* rule) {
    dispatch_compute<kFloating>(chances.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> chance(chances);
        require(holds_of_all(chance.data(), chances.numel, [](T p) { return (p >= 0) & (p <= 1); }), rule);
        fill_random<Bool>(out, generator, [&](int64_t i, const RandomBits& bits) {
            return Bool(unit(bits, 0) < static_cast<double>(chance[i]));
        });
    });
}

void sample_bernoulli(const Tensor& target, double p, diopiGeneratorHandle_t generator) {
    fill_random<Bool>(target, generator, [p](int64_t, const RandomBits& bits) { return Bool(unit(bits, 0) < p); });
}

}  // namespace diopigen::core
