// The ranges of the parameters of sampling, for one sequence.
#ifndef DIOPI_CORE_FUNCTIONS_SERVING_RUNTIME_ARGS_H_
#define DIOPI_CORE_FUNCTIONS_SERVING_RUNTIME_ARGS_H_

#include <cstdint>

#include "diopi_core/host_device.h"

namespace diopigen::core::serving {

constexpr int64_t kLargestTopK = 1024;

struct Candidates {
    int64_t top_k;
    float top_p;
};

// Neither limit means greedy: the likeliest token alone.
DIOPI_HOST_DEVICE inline Candidates without_neither(Candidates requested) {
    return {requested.top_k == 0 && requested.top_p == 0 ? 1 : requested.top_k, requested.top_p};
}

DIOPI_HOST_DEVICE inline float clamped(float mass) { return mass < 0 ? 0 : (mass > 1 ? 1 : mass); }

// What top-k sampling uses; a sequence without top_k is not its own.
DIOPI_HOST_DEVICE inline Candidates for_top_k(Candidates requested) {
    const Candidates used = without_neither(requested);
    const float mass = used.top_k > 0 && used.top_p == 0 ? 1 : used.top_p;
    return {used.top_k < kLargestTopK ? used.top_k : kLargestTopK, clamped(mass)};
}

// What top-p sampling uses; a sequence with a top_k is not its own.
DIOPI_HOST_DEVICE inline Candidates for_top_p(Candidates requested) {
    const Candidates used = without_neither(requested);
    return {used.top_k, clamped(used.top_p)};
}

inline float decay_of(float decay) { return decay > 0 && decay <= 1 ? decay : 1.0F; }
inline float least_mass_of(float least) { return least > 0 && least <= 1 ? least : 0.5F; }

}  // namespace diopigen::core::serving

#endif  // DIOPI_CORE_FUNCTIONS_SERVING_RUNTIME_ARGS_H_
