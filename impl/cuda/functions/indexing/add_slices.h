// Adding slices at positions that may repeat, as gradients of lookups do.
#ifndef DIOPI_CUDA_INDEXING_ADD_SLICES_H_
#define DIOPI_CUDA_INDEXING_ADD_SLICES_H_

#include "diopi_core/raw_elements.h"
#include "diopi_cuda/runtime.h"

namespace diopigen::cuda {

// Adds slice k of `source`, [outer, count, inner], to slice positions[k] of `sums`, [outer, size, inner]: for each
// position in rising order of k, whatever the device. Both are of the dtype `computed`. Negative positions count from
// the end. What is at the position `skipped` is left out.
void add_slices(void* sums, const void* source, Dtype computed, const Int64* positions, int64_t count,
                const DimSplit& split, int64_t skipped = -1);

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_INDEXING_ADD_SLICES_H_
