#include <algorithm>
#include <cmath>
#include <limits>

#include "indexing/indexing_kernels.h"

namespace diopigen::core {

namespace {

// The norm of a row, as torch.norm defines it for every order.
template <typename T>
double norm(const T* row, int64_t length, double order) {
    double result = order == -std::numeric_limits<double>::infinity() ? std::numeric_limits<double>::infinity() : 0;
    for (int64_t i = 0; i < length; ++i) {
        const double size = std::abs(static_cast<double>(row[i]));
        if (std::isnan(size)) {
            return size;
        }
        if (std::isinf(order)) {
            result = order > 0 ? std::max(result, size) : std::min(result, size);
        } else if (order == 0) {
            result += size != 0;
        } else {
            result += order == 2 ? size * size : order == 1 ? size : std::pow(size, order);
        }
    }
    if (order == 2) {
        return std::sqrt(result);
    }
    return std::isinf(order) || order == 0 || order == 1 ? result : std::pow(result, 1 / order);
}

}  // namespace

void cut_rows(const Tensor& table, const Positions& positions, double max_norm, double order) {
    const int64_t width = table.shape[1];
    std::vector<int64_t> rows;
    for (int64_t k = 0; k < positions.count(); ++k) {
        rows.push_back(positions[k]);
    }
    std::sort(rows.begin(), rows.end());
    rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
    // Row by row, so that the others are not even rewritten.
    parallel_for(static_cast<int64_t>(rows.size()), row_grain(width), [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
            const View view = selected(table, 0, rows[k]);
            dispatch_compute<kFloating>(table.dtype, [&](auto sample) {
                using T = decltype(sample);
                const Changed changed(view.tensor(), dtype_of<T>);
                T* row = changed.as<T>();
                const double size = norm(row, width, order);
                if (size > max_norm) {
                    const double factor = max_norm / (size + 1e-7);
                    for (int64_t i = 0; i < width; ++i) {
                        row[i] = static_cast<T>(row[i] * factor);
                    }
                    changed.store();
                }
            });
        }
    });
}

}  // namespace diopigen::core
