// The words of one call of a random operator, as kernels draw them.
#ifndef DIOPI_CUDA_RANDOM_GENERATOR_H_
#define DIOPI_CUDA_RANDOM_GENERATOR_H_

#include "diopi_core/words.h"
#include "diopi_cuda/group.h"
#include "random/words_of_element.h"

namespace diopi::cuda {

using core::FourWords;

struct Draws {
    uint64_t seed = 0;
    uint64_t offset = 0;

    // Takes the words of a call from the generator, whose offset grows by four: before anything is written.
    static Draws of(diopiGeneratorHandle_t generator) {
        constexpr uint64_t kWordsPerElement = 4;
        Draws draws;
        core::require(diopiGeneratorGetSeedAndOffset(generator, &draws.seed, &draws.offset) == diopiSuccess,
                      "parameter 'generator' gives no seed");
        core::require(
            diopiGeneratorSetSeedAndOffset(generator, draws.seed, draws.offset + kWordsPerElement) == diopiSuccess,
            "parameter 'generator' takes no offset");
        return draws;
    }

    DIOPI_SHARED FourWords operator()(int64_t i) const { return core::philox(seed, static_cast<uint64_t>(i), offset); }
};

}  // namespace diopi::cuda

#endif  // DIOPI_CUDA_RANDOM_GENERATOR_H_
