// The boxes that no better one overlaps.
#include "detection/boxes.h"
#include "diopi_cuda/launch.h"
#include "diopi_cuda/primitives.h"
#include "diopi_library/suppress.h"
#include "sorting/order_keys.h"

namespace diopigen::cuda {

namespace {

void make_keys(uint64_t* keys, int64_t* rows, const double* scores, int64_t count) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        keys[i] = ~order_key(scores[i]);  // from the highest down
        rows[i] = i;
    });
}

void pick(int64_t* rows, const int64_t* order, int64_t found) {
    for_each(found, [=] DIOPI_KERNEL(int64_t i) { rows[i] = order[rows[i]]; });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

Buffer keep_boxes(const Tensor& boxes, const Tensor& confidence, double threshold, int64_t offset, int64_t& found) {
    const int64_t count = confidence.numel;
    const Input<double> corners(boxes);
    const Input<double> scores(confidence);
    cuda::Keyed order(count);
    cuda::make_keys(order.keys(), order.indices(), scores.data(), count);
    order.sort(64);
    Buffer rows = room_for_rows(count);
    auto* const retained = static_cast<int64_t*>(rows.data());
    const Suppress suppress;
    suppress(retained, count,
             OverlapAxisAligned{corners.data(), order.indices(), threshold, static_cast<double>(offset)});
    found = Suppress::number(retained + count);
    cuda::pick(retained, order.indices(), found);
    return rows;
}

}  // namespace diopigen::core
