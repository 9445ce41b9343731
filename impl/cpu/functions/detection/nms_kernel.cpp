#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "detection/kernels.h"

namespace diopi::core {

Buffer keep_boxes(const Tensor& boxes, const Tensor& confidence, double threshold, int64_t& found) {
    const Input<double> corners(boxes);
    const Input<double> scores(confidence);
    std::vector<int64_t> order(static_cast<size_t>(confidence.numel));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t k) {
        return std::isnan(scores[i]) ? !std::isnan(scores[k]) : scores[i] > scores[k];
    });
    std::vector<int64_t> selected;
    for (const int64_t row : order) {
        const bool stays = std::none_of(selected.begin(), selected.end(), [&](int64_t other) {
            return overlaps(corners.data() + 4 * row, corners.data() + 4 * other, threshold);
        });
        if (stays) {
            selected.push_back(row);
        }
    }
    found = static_cast<int64_t>(selected.size());
    Buffer rows;
    rows.allocate(found * static_cast<int64_t>(sizeof(int64_t)));
    std::copy(selected.begin(), selected.end(), static_cast<int64_t*>(rows.data()));
    return rows;
}

}  // namespace diopi::core
