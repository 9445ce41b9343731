// How a GPU goes down a list (detection/boxes.h): which overlap is found for all pairs at once, as bits; then one group
// goes down the list.
#ifndef DIOPI_LIBRARY_SUPPRESS_H_
#define DIOPI_LIBRARY_SUPPRESS_H_

#include "diopi_core/dense.h"
#include "diopi_cuda/launch.h"
#include "diopi_cuda/runtime.h"

namespace diopigen::cuda {

constexpr int64_t kBits = 64;

// Bit k of word w of box i: whether box 64 w + k, which comes later, overlaps it.
template <typename Overlaps>
void find_overlaps(uint64_t* masks, int64_t count, int64_t per_box, const Overlaps& overlaps) {
    for_each(count * per_box, [=] DIOPI_KERNEL(int64_t at) {
        const int64_t i = at / per_box;
        const int64_t first = at % per_box * kBits;
        uint64_t word = 0;
        for (int64_t k = 0; k < kBits && first + k < count; ++k) {
            if (first + k > i && overlaps(i, first + k)) {
                word |= uint64_t{1} << k;
            }
        }
        masks[at] = word;
    });
}

// `gone` is zero.
inline void keep(int64_t* retained, uint64_t* gone, const uint64_t* masks, int64_t count, int64_t per_box) {
    for_groups(1, threads_for(per_box), 0, [=] DIOPI_KERNEL(Group & group, int64_t) {
        int64_t found = 0;
        for (int64_t i = 0; i < count; ++i) {
            const bool stays = (gone[i / kBits] >> (i % kBits) & 1) == 0;
            group.sync();
            if (stays) {
                if (group.thread() == 0) {
                    retained[found] = i;
                }
                ++found;
                for (int64_t w = group.thread(); w < per_box; w += group.size()) {
                    gone[w] |= masks[i * per_box + w];
                }
            }
            group.sync();
        }
        if (group.thread() == 0) {
            retained[count] = found;
        }
    });
}

}  // namespace diopigen::cuda

namespace diopigen::core {

struct Suppress {
    template <typename Overlaps>
    void operator()(int64_t* retained, int64_t count, const Overlaps& overlaps) const {
        constexpr int64_t kBytes = sizeof(uint64_t);
        const int64_t per_box = (count + cuda::kBits - 1) / cuda::kBits;
        Buffer masks;
        masks.allocate(count * per_box * kBytes);
        cuda::find_overlaps(static_cast<uint64_t*>(masks.data()), count, per_box, overlaps);
        Buffer gone;
        gone.allocate(per_box * kBytes);
        cuda::clear(gone.data(), static_cast<size_t>(per_box * kBytes));
        cuda::keep(retained, static_cast<uint64_t*>(gone.data()), static_cast<const uint64_t*>(masks.data()), count,
                   per_box);
    }

    static int64_t number(const int64_t* retained) {
        int64_t found = 0;
        cuda::read_back(&found, retained, sizeof found);
        return found;
    }
};

}  // namespace diopigen::core

#endif  // DIOPI_LIBRARY_SUPPRESS_H_
