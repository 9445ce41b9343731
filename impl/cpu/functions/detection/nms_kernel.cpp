#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "detection/boxes.h"
#include "diopi_library/suppress.h"

namespace diopigen::core {

Buffer keep_boxes(const Tensor& boxes, const Tensor& confidence, double threshold, int64_t offset, int64_t& found) {
    const int64_t count = confidence.numel;
    const Input<double> corners(boxes);
    const Input<double> scores(confidence);
    std::vector<int64_t> order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t k) {
        return std::isnan(scores[i]) ? !std::isnan(scores[k]) : scores[i] > scores[k];
    });
    Buffer rows = room_for_rows(count);
    auto* const retained = static_cast<int64_t*>(rows.data());
    Suppress()(retained, count,
               OverlapAxisAligned{corners.data(), order.data(), threshold, static_cast<double>(offset)});
    found = retained[count];
    std::transform(retained, retained + found, retained, [&](int64_t i) { return order[i]; });
    return rows;
}

}  // namespace diopigen::core
