// Whether buffers of a launch share memory. Most operators mind.
#ifndef DIOPIGEN_KERNELS_SHARING_H_
#define DIOPIGEN_KERNELS_SHARING_H_

#include <diopigen_kernels/buffer.h>

#include <vector>

namespace diopigen::kernels {

/// Whether every tensor that is written shares no memory among its own elements, nor with another buffer. It may be
/// read in the same launch as a whole: same memory, dtype, shape and strides. Overlap is decided by address ranges, and
/// within a tensor by its strides; a tensor whose dimensions interleave counts as overlapping.
bool resultsAreApart(const std::vector<Buffer>& buffers);

}  // namespace diopigen::kernels

#endif  // DIOPIGEN_KERNELS_SHARING_H_
