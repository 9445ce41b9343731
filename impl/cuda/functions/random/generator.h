// The random bits of one call of a random operator.
#ifndef DIOPI_CUDA_RANDOM_GENERATOR_H_
#define DIOPI_CUDA_RANDOM_GENERATOR_H_

#include "diopi_core/raw_elements.h"
#include "diopi_cuda/group.h"
#include "random/random_bits.h"

namespace diopigen::cuda {

using core::RandomBits;

struct RandomNumbers {
    uint64_t seed = 0;
    uint64_t offset = 0;

    // Takes the random bits of a call from the generator, whose offset grows by four: before anything is written.
    static RandomNumbers of(diopiGeneratorHandle_t generator) {
        constexpr uint64_t kOffsetPerElement = 4;
        RandomNumbers random;
        core::require(diopiGeneratorGetSeedAndOffset(generator, &random.seed, &random.offset) == diopiSuccess,
                      "parameter 'generator' gives no seed");
        core::require(
            diopiGeneratorSetSeedAndOffset(generator, random.seed, random.offset + kOffsetPerElement) == diopiSuccess,
            "parameter 'generator' takes no offset");
        return random;
    }

    DIOPI_HOST_DEVICE RandomBits operator()(int64_t i) const {
        return core::philox(seed, static_cast<uint64_t>(i), offset);
    }
};

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_RANDOM_GENERATOR_H_
