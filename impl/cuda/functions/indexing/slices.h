// Slices that are moved as they are: by accesses as wide as slices and addresses allow.
#ifndef DIOPI_CUDA_INDEXING_SLICES_H_
#define DIOPI_CUDA_INDEXING_SLICES_H_

#include <initializer_list>

#include "diopi_core/raw_elements.h"
#include "diopi_cuda/fast_divmod.h"
#include "diopi_cuda/launch.h"

namespace diopigen::cuda {

// Positions in [outer, count, inner], taken apart.
class SlicePositions {
  public:
    SlicePositions(int64_t count, int64_t inner) : by_count_(count), by_inner_(inner) {}

    DIOPI_DEVICE void split(int64_t position, int64_t& outer, int64_t& k, int64_t& i) const {
        i = position;
        k = by_inner_.split(i);
        outer = by_count_.split(k);
    }

  private:
    FastDivmod by_count_;
    FastDivmod by_inner_;
};

// Calls `body(W{}, inner)` with the widest word that slices of `bytes` bytes in all arrays consist of, and how many
// accesses a slice needs.
template <typename Body>
void dispatch_slices(int64_t bytes, std::initializer_list<const void*> arrays, Body&& body) {
    uint64_t addresses = static_cast<uint64_t>(bytes);
    for (const void* array : arrays) {
        addresses |= reinterpret_cast<uint64_t>(array);
    }
    if (addresses % 16 == 0) {
        body(AlignedVector<uint32_t, 4>{}, bytes / 16);
    } else if (addresses % 8 == 0) {
        body(uint64_t{}, bytes / 8);
    } else if (addresses % 4 == 0) {
        body(uint32_t{}, bytes / 4);
    } else if (addresses % 2 == 0) {
        body(uint16_t{}, bytes / 2);
    } else {
        body(uint8_t{}, bytes);
    }
}

DIOPI_DEVICE inline int64_t as_number(int64_t position) { return position; }
DIOPI_DEVICE inline int64_t as_number(Int64 position) { return position.value; }

// Slices of `inner` accesses at positions of a dimension, one after the other.
template <typename W, typename Position>
void pick(void* target, const void* source, const Position* positions, int64_t count, int64_t inner,
          const DimSplit& split) {
    auto* const to = static_cast<W*>(target);
    const auto* const from = static_cast<const W*>(source);
    const SlicePositions slices(count, inner);
    const int64_t size = split.size;
    for_each(split.outer * count * inner, [=] DIOPI_KERNEL(int64_t at) {
        int64_t outer;
        int64_t k;
        int64_t i;
        slices.split(at, outer, k, i);
        to[at] = from[(outer * size + as_number(positions[k])) * inner + i];
    });
}

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_INDEXING_SLICES_H_
