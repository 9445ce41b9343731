// The slices are sorted by their positions, so that those of one position are adjacent and one thread adds them up.
#include "add_slices.h"
#include "device_offsets.h"
#include "diopi_core/math.h"
#include "diopi_cuda/primitives.h"
#include "slices.h"

namespace diopigen::cuda {

namespace {

void make_keys(uint64_t* keys, int64_t* offsets, const Int64* positions, int64_t count, int64_t size, int64_t skipped) {
    for_each(count, [=] DIOPI_KERNEL(int64_t k) {
        const int64_t position = from_start(positions[k], size);
        keys[k] = static_cast<uint64_t>(position == skipped ? size : position);
        offsets[k] = k;
    });
}

template <typename T>
void add_runs(T* sums, const T* source, const uint64_t* keys, const int64_t* order, int64_t count,
              const DimSplit& split) {
    const SlicePositions slices(count, split.inner);
    for_each(split.outer * count * split.inner, [=] DIOPI_KERNEL(int64_t at) {
        int64_t outer;
        int64_t first;
        int64_t i;
        slices.split(at, outer, first, i);
        const uint64_t key = keys[first];
        const auto position = static_cast<int64_t>(key);
        if (position == split.size || (first > 0 && keys[first - 1] == key)) {
            return;
        }
        const int64_t target = (outer * split.size + position) * split.inner + i;
        T sum = sums[target];
        for (int64_t k = first; k < count && keys[k] == key; ++k) {
            sum = sum + source[(outer * count + order[k]) * split.inner + i];
        }
        sums[target] = sum;
    });
}

}  // namespace

void add_slices(void* sums, const void* source, Dtype computed, const Int64* positions, int64_t count,
                const DimSplit& split, int64_t skipped) {
    if (count == 0) {
        return;
    }
    Keyed sorted(count);
    make_keys(sorted.keys(), sorted.indices(), positions, count, split.size, skipped);
    sorted.sort(bits_below(split.size + 1));
    dispatch_compute<kAny>(computed, [&](auto sample) {
        using T = decltype(sample);
        add_runs<T>(static_cast<T*>(sums), static_cast<const T*>(source), sorted.keys(), sorted.indices(), count,
                    split);
    });
}

}  // namespace diopigen::cuda
