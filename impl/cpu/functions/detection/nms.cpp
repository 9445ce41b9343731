// Nms: boxes from the highest score down, without those that overlap a kept one too much.
#include <diopi/functions.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "diopi_cpu/dense.h"

using namespace diopi::cpu;

namespace {

// Whether the intersection of two boxes (x1, y1, x2, y2) is more than `threshold` of their union. Two boxes without
// area do not overlap.
bool overlaps(const double* a, const double* b, double threshold) {
    const double width = std::max(std::min(a[2], b[2]) - std::max(a[0], b[0]), 0.0);
    const double height = std::max(std::min(a[3], b[3]) - std::max(a[1], b[1]), 0.0);
    const double common = width * height;
    const double both = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common;
    return common / both > threshold;
}

}  // namespace

DIOPI_API diopiError_t diopiNms(diopiContextHandle_t ctx, diopiTensorHandle_t* out, diopiConstTensorHandle_t boxes,
                                diopiConstTensorHandle_t confidence, double iou_threshold) {
    return guarded("diopiNms", [&] {
        require(out != nullptr, "parameter 'out' is null");
        constexpr DtypeSet kAllowed = kFloat16 | kFloat32 | kFloat64;
        const Tensor boxes_tensor = tensor("boxes", boxes, kAllowed);
        const Tensor confidence_tensor = tensor("confidence", confidence, kAllowed);
        require_same_dtype(confidence_tensor, boxes_tensor);
        require_rank(boxes_tensor, 2, 2);
        const int64_t count = boxes_tensor.shape[0];
        require_shape(boxes_tensor, {count, 4});
        require_shape(confidence_tensor, {count});
        require_one_device({&boxes_tensor, &confidence_tensor});
        const Input<double> corners(boxes_tensor);
        const Input<double> scores(confidence_tensor);
        std::vector<int64_t> order(static_cast<size_t>(count));
        std::iota(order.begin(), order.end(), 0);
        // A score that is no number counts as the highest, as in a descending sort.
        std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t k) {
            return std::isnan(scores[i]) ? !std::isnan(scores[k]) : scores[i] > scores[k];
        });
        std::vector<int64_t> kept;
        for (const int64_t row : order) {
            const bool stays = std::none_of(kept.begin(), kept.end(), [&](int64_t other) {
                return overlaps(corners.data() + 4 * row, corners.data() + 4 * other, iou_threshold);
            });
            if (stays) {
                kept.push_back(row);
            }
        }
        const Tensor result = new_tensor(ctx, "out", {static_cast<int64_t>(kept.size())}, Dtype::kInt64, boxes_tensor);
        std::copy(kept.begin(), kept.end(), static_cast<int64_t*>(result.data));
        *out = result.handle;
    });
}
