// States of the parts that rows, sets or channels are cut into.
#ifndef DIOPI_CUDA_PARTS_H_
#define DIOPI_CUDA_PARTS_H_

#include "diopi_cuda/group.h"

namespace diopigen::cuda {

// The states of the parts of set `set`, joined by its group: every thread has the result. A state that consists of
// nothing joins to what it is joined with.
template <typename State, typename Join>
DIOPI_DEVICE State join_parts(const Group& group, const State* states, int64_t set, int64_t parts, const Join& join) {
    State own{};
    for (int64_t k = group.thread(); k < parts; k += group.size()) {
        own = join(own, states[set * parts + k]);
    }
    return group.reduce(own, join);
}

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_PARTS_H_
