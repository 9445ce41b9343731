// Operators that go row by row. Tensors are seen with the dimensions that belong together behind the others, so that
// one loop over plain rows serves every dimension.
#ifndef DIOPIGEN_KERNELS_ROWS_H_
#define DIOPIGEN_KERNELS_ROWS_H_

#include <diopigen_kernels/call.h>
#include <diopigen_kernels/elements.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace diopigen::kernels {

/// The natural logarithm of the sum of the exponentials of `size` values; minus infinity where all of them are.
inline double logSumExp(const double* x, int64_t size) {
    const double largest = *std::max_element(x, x + size);
    double sum = 0;
    for (int64_t i = 0; i < size; ++i) {
        sum += std::exp(static_cast<float>(x[i] - largest));
    }
    return std::isinf(largest) && largest < 0 ? largest : largest + std::log(sum);
}

/// Result 0 is operand 1 with each row along `dim` changed by `row(x, y, size)`, with the row of operand 2 as y; zeros
/// where that one is not there. All have one floating dtype and shape.
template <typename Row, typename Launch>
Status alongDim(Call call, int64_t dim, Row row, const Launch& launch) {
    if (!call.isOneFloat() || !call.haveShape({1, 2}, call.shape(0)) || !call.moveLast({dim}, {0, 1, 2})) {
        return call.rejected();
    }
    return call.launch(launch, [row, size = call.shape(0).back()](const Kernel& k) {
        Values x = load(k, 1);
        const Values y = k.buffer(2).isTensor ? load(k, 2) : Values(x.size());
        for (size_t first = 0; first < x.size(); first += static_cast<size_t>(size)) {
            row(&x[first], &y[first], size);
        }
        store(k, 0, x);
    });
}

/// Result 0 is operand 1 reduced over `dims`, over all of them where none is named; it may keep them with size 1.
/// `fold(y, x)` gives what becomes of y, `start` at first, with each element x; a mean divides by their number.
template <typename Fold, typename Launch>
Status reduceDims(Call call, Shape dims, double start, Fold fold, bool isMean, const Launch& launch) {
    Shape kept = call.shape(1);
    if (dims.empty()) {
        dims.resize(kept.size());
        std::iota(dims.begin(), dims.end(), 0);
    }
    if (!call.haveDtype({1}, call.dtype(0)) || !call.moveLast(dims, {1})) {
        return call.rejected();
    }
    const Shape moved = call.shape(1), squeezed(moved.begin(), moved.end() - static_cast<int64_t>(dims.size()));
    for (const int64_t each : dims) {
        kept[call.dim(1, each)] = 1;
    }
    if (product(moved) == 0 || (!call.haveShape({0}, kept) && !call.haveShape({0}, squeezed))) {
        return call.rejected();
    }
    return call.launch(launch, [=, size = product(moved) / product(squeezed)](const Kernel& k) {
        const Values x = load(k, 1);
        Values y(static_cast<size_t>(product(squeezed)));
        for (size_t row = 0; row < y.size(); ++row) {
            const double* const first = &x[row * size];
            y[row] = std::accumulate(first, first + size, start, fold) / static_cast<double>(isMean ? size : 1);
        }
        store(k, 0, y);
    });
}

}  // namespace diopigen::kernels

#endif  // DIOPIGEN_KERNELS_ROWS_H_
