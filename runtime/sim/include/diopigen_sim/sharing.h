// Whether buffers of a launch share memory. The device itself does not mind; most operators do.
#ifndef DIOPIGEN_SIM_SHARING_H_
#define DIOPIGEN_SIM_SHARING_H_

#include <diopigen_sim/launch.h>

#include <vector>

namespace diopigen::sim {

/// Whether every tensor that is written shares no memory among its own elements, nor with another buffer. It may be
/// read in the same launch as a whole: same memory, dtype, shape and strides. Overlap is decided by address ranges, and
/// within a tensor by its strides; a tensor whose dimensions interleave counts as overlapping.
bool resultsAreApart(const std::vector<Buffer>& buffers);

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_SHARING_H_
