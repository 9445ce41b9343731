// RandomInp and UniformInp. The loops.
#include <limits>

#include "random/random_kernels.h"
#include "random/sample.h"

namespace diopigen::core {

void sample_integers(const Tensor& target, int64_t from, uint64_t range, diopiGeneratorHandle_t generator) {
    fill_random<Int64>(target, generator, [from, range](int64_t, const RandomBits& bits) {
        return Int64(static_cast<int64_t>(static_cast<uint64_t>(from) + below(range, bits, 0)));
    });
}

void sample_uniform(const Tensor& target, double from, double to, double last, diopiGeneratorHandle_t generator) {
    fill_random<double>(target, generator, [=](int64_t, const RandomBits& bits) {
        return std::min(from + (to - from) * unit(bits, 0), last);
    });
}

}  // namespace diopigen::core
