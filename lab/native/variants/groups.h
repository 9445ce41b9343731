// Which elements of a tensor go into each result of a reduction.
#pragma once

#include "work.h"

namespace diopigen::variants {

// For each result, in row-major order, the indices of its elements in row-major order.
using Groups = std::vector<std::vector<int64_t>>;

// Reduction over some dimensions, negative ones from the end; over all where none is named.
Groups groupsOf(const Dims& shape, const Dims& dims);

// The lines of a tensor along one dimension.
Groups linesOf(const Dims& shape, int64_t dim);

template <typename T>
std::vector<T> taken(const Array<T>& array, const std::vector<int64_t>& indices) {
    std::vector<T> found;
    found.reserve(indices.size());
    for (const int64_t index : indices) found.push_back(array[index]);
    return found;
}

}  // namespace diopigen::variants
