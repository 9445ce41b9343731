// Nms: which boxes overlap is found for all pairs at once, as bits; then one group goes down the scores.
#include "detection/kernels.h"
#include "diopi_cuda/launch.h"
#include "diopi_cuda/primitives.h"
#include "sorting/order_keys.h"

namespace diopi::cuda {

namespace {

constexpr int64_t kBits = 64;

void make_keys(uint64_t* keys, int64_t* rows, const double* scores, int64_t count) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        keys[i] = ~order_key(scores[i]);  // from the highest down
        rows[i] = i;
    });
}

// Bit k of word w of box i, all in the order of scores: whether box 64 w + k, which comes later, overlaps it.
void find_overlaps(uint64_t* masks, const double* boxes, const int64_t* order, int64_t count, int64_t per_box,
                   double threshold) {
    for_each(count * per_box, [=] DIOPI_KERNEL(int64_t at) {
        const int64_t i = at / per_box;
        const int64_t first = at % per_box * kBits;
        uint64_t word = 0;
        for (int64_t k = 0; k < kBits && first + k < count; ++k) {
            if (first + k > i && overlaps(boxes + 4 * order[first + k], boxes + 4 * order[i], threshold)) {
                word |= uint64_t{1} << k;
            }
        }
        masks[at] = word;
    });
}

// `selected` gets the rows that stay, and behind them, at `count`, their number. `gone` is zero.
void keep(int64_t* selected, uint64_t* gone, const uint64_t* masks, const int64_t* order, int64_t count,
          int64_t per_box) {
    for_groups(1, threads_for(per_box), 0, [=] DIOPI_KERNEL(Group & group, int64_t) {
        int64_t found = 0;
        for (int64_t i = 0; i < count; ++i) {
            const bool stays = (gone[i / kBits] >> (i % kBits) & 1) == 0;
            group.sync();
            if (stays) {
                if (group.thread() == 0) {
                    selected[found] = order[i];
                }
                ++found;
                for (int64_t w = group.thread(); w < per_box; w += group.size()) {
                    gone[w] |= masks[i * per_box + w];
                }
            }
            group.sync();
        }
        if (group.thread() == 0) {
            selected[count] = found;
        }
    });
}

}  // namespace

}  // namespace diopi::cuda

namespace diopi::core {

Buffer keep_boxes(const Tensor& boxes, const Tensor& confidence, double threshold, int64_t& found) {
    constexpr int64_t kBytes = sizeof(uint64_t);
    const int64_t count = confidence.numel;
    const int64_t per_box = (count + cuda::kBits - 1) / cuda::kBits;
    const Input<double> corners(boxes);
    const Input<double> scores(confidence);
    cuda::Keyed order(count);
    cuda::make_keys(order.keys(), order.indices(), scores.data(), count);
    order.sort(64);
    Buffer masks;
    masks.allocate(count * per_box * kBytes);
    cuda::find_overlaps(static_cast<uint64_t*>(masks.data()), corners.data(), order.indices(), count, per_box,
                        threshold);
    Buffer gone;
    gone.allocate(per_box * kBytes);
    cuda::clear(gone.data(), static_cast<size_t>(per_box * kBytes));
    Buffer selected;
    selected.allocate((count + 1) * kBytes);
    auto* const rows = static_cast<int64_t*>(selected.data());
    cuda::keep(rows, static_cast<uint64_t*>(gone.data()), static_cast<const uint64_t*>(masks.data()), order.indices(),
               count, per_box);
    cuda::read_back(&found, rows + count, sizeof found);
    return selected;
}

}  // namespace diopi::core
