#include "groups.h"

#include <algorithm>

namespace diopigen::variants {

Groups groupsOf(const Dims& shape, const Dims& dims) {
    const auto rank = static_cast<int64_t>(shape.size());
    std::vector<bool> reduced(shape.size(), dims.empty());
    for (const int64_t dim : dims) {
        if (rank > 0) reduced[static_cast<size_t>(dim < 0 ? dim + rank : dim)] = true;
    }
    std::vector<int64_t> stride(shape.size(), 0);
    int64_t results = 1;
    for (int64_t dim = rank - 1; dim >= 0; --dim) {
        const auto own = static_cast<size_t>(dim);
        if (reduced[own]) continue;
        stride[own] = results;
        results *= shape[own];
    }
    Groups groups(static_cast<size_t>(results));
    std::vector<int64_t> index(shape.size(), 0);
    for (int64_t i = 0; i < countOf(shape); ++i) {
        int64_t result = 0, left = i;
        for (int64_t dim = rank - 1; dim >= 0; --dim) {
            const auto own = static_cast<size_t>(dim);
            result += left % shape[own] * stride[own];
            left /= shape[own];
        }
        groups[static_cast<size_t>(result)].push_back(i);
    }
    return groups;
}

Groups linesOf(const Dims& shape, int64_t dim) { return shape.empty() ? Groups{{0}} : groupsOf(shape, {dim}); }

}  // namespace diopigen::variants
