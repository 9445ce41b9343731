// How the objects of detection are called: a thread for each owner.
#ifndef DIOPI_CUDA_FUNCTIONS_DETECTION_EACH_H_
#define DIOPI_CUDA_FUNCTIONS_DETECTION_EACH_H_

#include "diopi_cuda/launch.h"

namespace diopi::cuda {

struct Each {
    template <typename Body>
    void operator()(int64_t count, int64_t, const Body& body) const {
        for_each(count, body);
    }
};

}  // namespace diopi::cuda

#endif  // DIOPI_CUDA_FUNCTIONS_DETECTION_EACH_H_
