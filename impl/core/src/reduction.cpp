#include "diopi_core/reduction.h"

#include <algorithm>

namespace diopigen::core {

namespace {

Rows rows_of(const Tensor& input, const std::vector<bool>& is_reduced) {
    Rows rows;
    for (int64_t i = 0; i < input.rank; ++i) {
        (is_reduced[i] ? rows.reduced : rows.outer).push_back(i);
        (is_reduced[i] ? rows.length : rows.count) *= input.shape[i];
    }
    return rows;
}

}  // namespace

std::vector<int64_t> Rows::order() const {
    std::vector<int64_t> all = outer;
    all.insert(all.end(), reduced.begin(), reduced.end());
    return all;
}

Rows rows_over(const Tensor& input, const char* name, diopiSize_t dims) {
    require_sizes(name, dims);
    std::vector<bool> is_reduced(static_cast<size_t>(std::max<int64_t>(input.rank, 1)), dims.len == 0);
    for (int64_t i = 0; i < dims.len; ++i) {
        const int64_t dim = dimension(name, dims.data[i], input.rank);
        if (is_reduced[dim]) {
            fail(std::string("parameter '") + name + "' names dimension " + std::to_string(dim) + " twice");
        }
        is_reduced[dim] = true;
    }
    return rows_of(input, is_reduced);
}

}  // namespace diopigen::core
