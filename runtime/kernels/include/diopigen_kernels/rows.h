// Operators that go row by row. Tensors are seen with the dimensions that belong together behind the others, so that
// one loop over plain rows serves every dimension.
#ifndef DIOPIGEN_KERNELS_ROWS_H_
#define DIOPIGEN_KERNELS_ROWS_H_

#include <diopigen_kernels/call.h>
#include <diopigen_kernels/elements.h>
#include <diopigen_kernels/parallel.h>
#include <diopigen_kernels/vector_math.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

namespace diopigen::kernels {

/// The sum of `term(i)` for all i below `size`, in double. Several partial sums, which the compiler keeps in vectors:
/// the order depends on `size` alone.
template <typename Term>
double sumOf(int64_t size, Term term) {
    constexpr int64_t kLanes = 8;
    double lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= size; i += kLanes) {
        for (int64_t lane = 0; lane < kLanes; ++lane) {
            lanes[lane] += static_cast<double>(term(i + lane));
        }
    }
    for (; i < size; ++i) {
        lanes[i % kLanes] += static_cast<double>(term(i));
    }
    return std::accumulate(lanes, lanes + kLanes, 0.0);
}

/// The sum of `size` values, in double.
template <typename Value>
double sumOf(const Value* x, int64_t size) {
    return sumOf(size, [x](int64_t i) { return x[i]; });
}

/// The largest of `size` values, at least one. Where some are NaN, any of the others or NaN.
template <typename Value>
Value largestOf(const Value* x, int64_t size) {
    constexpr int64_t kLanes = 8;
    Value lanes[kLanes];
    std::fill_n(lanes, kLanes, x[0]);
    int64_t i = 0;
    for (; i + kLanes <= size; i += kLanes) {
        for (int64_t lane = 0; lane < kLanes; ++lane) {
            lanes[lane] = lanes[lane] < x[i + lane] ? x[i + lane] : lanes[lane];
        }
    }
    for (; i < size; ++i) {
        lanes[0] = lanes[0] < x[i] ? x[i] : lanes[0];
    }
    return *std::max_element(lanes, lanes + kLanes);
}

/// The largest of a row, and the sum of the exponentials of the distances to it.
template <typename Value>
struct Exponentials {
    Value largest;
    double sum;
};

/// Of `size` values, at least one.
template <typename Value>
Exponentials<Value> exponentialsOf(const Value* x, int64_t size) {
    const Value largest = largestOf(x, size);
    std::vector<Value> powers(static_cast<std::size_t>(size));  // a loop of its own, which can be vectorised
    for (int64_t i = 0; i < size; ++i) {
        powers[i] = std::exp(x[i] - largest);
    }
    return {largest, sumOf(powers.data(), size)};
}

/// The natural logarithm of the sum of the exponentials of `size` values, at least one; minus infinity where all of
/// them are.
template <typename Value>
double logSumExp(const Value* x, int64_t size) {
    const Exponentials<Value> row = exponentialsOf(x, size);
    return std::isinf(row.largest) && row.largest < 0 ? row.largest : row.largest + std::log(row.sum);
}

/// The logarithm of softmax of `size` values, at least one. The distance to the largest comes first: added to a
/// large number the logarithm of the sum would be lost.
template <typename Value>
void logSoftmax(const Value* x, Value* to, int64_t size) {
    const Exponentials<Value> row = exponentialsOf(x, size);
    const double largest = row.largest, logSum = std::log(row.sum);
    std::transform(x, x + size, to, [=](double each) { return static_cast<Value>(each - largest - logSum); });
}

/// `visit(zero)` with a zero of the type that rows of a floating dtype are computed in: double for float64, else float.
template <typename Visit>
void withRowType(diopiDtype_t dtype, Visit visit) {
    dtype == diopi_dtype_float64 ? visit(double{0}) : visit(float{0});
}

/// For each row along `dim`, `row(x, y, to, size)` computes that of result 0 from those of operands 1 and 2, which may
/// be where the result is; without operand 2, y is x. All have one floating dtype and shape; rows are arrays of double
/// for float64, else of float. Large tensors are computed by several threads.
template <typename Row, typename Launch>
Status alongDim(Call call, int64_t dim, Row row, const Launch& launch) {
    if (!call.isOneFloat() || !call.haveShape({1, 2}, call.shape(0)) || !call.moveLast({dim}, {0, 1, 2})) {
        return call.rejected();
    }
    return call.launch(launch, [row, shape = call.shape(0)](const Kernel& k) {
        withRowType(k.buffer(0).dtype, [&](auto zero) {
            using Value = decltype(zero);
            const int64_t size = shape.back();
            const Input<Value> x(k, 1, shape);
            std::optional<Input<Value>> y;
            if (k.buffer(2).isTensor) {
                y.emplace(k, 2, shape);
            }
            const Value* const second = y.has_value() ? y->data() : x.data();
            Output<Value> out(k, 0, shape);
            forRanges(size == 0 ? 0 : product(shape) / size, grainOf(size), [&](int64_t first, int64_t last) {
                for (int64_t at = first * size; at < last * size; at += size) {
                    row(x.data() + at, second + at, out.data() + at, size);
                }
            });
            out.finish();
        });
    });
}

/// Result 0 is operand 1 reduced over `dims`, over all of them where none is named; it may keep them with size 1.
/// `fold(x, size)` gives a row's result as double; rows are arrays of float for floating dtypes up to 32 bits, else of
/// double. Large tensors are reduced by several threads.
template <typename Fold, typename Launch>
Status reduceDims(Call call, Shape dims, Fold fold, const Launch& launch) {
    Shape keepingDims = call.shape(1);
    if (dims.empty()) {
        dims.resize(keepingDims.size());
        std::iota(dims.begin(), dims.end(), 0);
    }
    if (!call.haveDtype({1}, call.dtype(0)) || !call.moveLast(dims, {1})) {
        return call.rejected();
    }
    const Shape moved = call.shape(1), squeezed(moved.begin(), moved.end() - static_cast<int64_t>(dims.size()));
    for (const int64_t each : dims) {
        keepingDims[call.dim(1, each)] = 1;
    }
    if (product(moved) == 0 || (!call.haveShape({0}, keepingDims) && !call.haveShape({0}, squeezed))) {
        return call.rejected();
    }
    return call.launch(launch, [=, size = product(moved) / product(squeezed)](const Kernel& k) {
        Values y(static_cast<std::size_t>(product(squeezed)));
        const auto foldRows = [&](const auto* x) {
            forRanges(product(squeezed), grainOf(size), [&](int64_t first, int64_t last) {
                for (int64_t row = first; row < last; ++row) {
                    y[row] = fold(x + row * size, size);
                }
            });
        };
        const diopiDtype_t dtype = k.buffer(1).dtype;
        if (isFloat(dtype) && dtype != diopi_dtype_float64) {
            foldRows(FloatInput(k, 1, moved).data());
        } else {
            foldRows(load(k, 1).data());
        }
        store(k, 0, y);
    });
}

/// sums[c] is the sum of column c of x [rows, columns], in double: from the first row to the last. Large matrices are
/// summed by several threads.
template <typename Value>
void sumColumns(const Value* x, int64_t rows, int64_t columns, double* sums) {
    constexpr int64_t kWidth = 64;  // columns at a time, whose sums stay in the nearest cache
    const int64_t tiles = (columns + kWidth - 1) / kWidth;
    forRanges(tiles, grainOf(rows * kWidth), [&](int64_t first, int64_t last) {
        for (int64_t column = first * kWidth; column < std::min(last * kWidth, columns); column += kWidth) {
            const int64_t width = std::min(kWidth, columns - column);
            double own[kWidth] = {};
            for (int64_t row = 0; row < rows; ++row) {
                const Value* const from = x + row * columns + column;
                for (int64_t i = 0; i < width; ++i) {
                    own[i] += static_cast<double>(from[i]);
                }
            }
            std::copy_n(own, width, sums + column);
        }
    });
}

/// Result 0 is operand 1 summed over `dims`, or its mean, as reduceDims() has them. Sums over the first dimensions of
/// float32 tensors in row-major order, such as the gradients of biases, are those of columns.
template <typename Launch>
Status sumDims(const Call& call, const Shape& dims, bool isMean, const Launch& launch) {
    const Shape shape = call.shape(1);
    const auto leading = static_cast<int64_t>(dims.size());
    bool isLeading = leading > 0 && leading < call.rank(1) && call.isInOrder(1) &&
                     call.dtype(1) == diopi_dtype_float32 && call.dtype(0) == diopi_dtype_float32;
    for (int64_t d = 0; isLeading && d < leading; ++d) {
        isLeading = std::any_of(dims.begin(), dims.end(), [&](int64_t each) { return call.dim(1, each) == d; });
    }
    if (isLeading) {
        const Shape squeezed(shape.begin() + leading, shape.end());
        Shape keepingDims = shape;
        std::fill_n(keepingDims.begin(), leading, 1);
        if (call.shape(0) == squeezed || call.shape(0) == keepingDims) {
            const int64_t columns = product(squeezed), rows = product(shape) / std::max<int64_t>(columns, 1);
            return call.launch(launch, [=](const Kernel& k) {
                Values sums(static_cast<std::size_t>(columns));
                sumColumns(k.in<float>(1), rows, columns, sums.data());
                for (double& each : sums) {
                    each = isMean ? each / static_cast<double>(rows) : each;
                }
                store(k, 0, sums);
            });
        }
    }
    const auto fold = [isMean](const auto* x, int64_t size) {
        return isMean ? sumOf(x, size) / static_cast<double>(size) : sumOf(x, size);
    };
    return reduceDims(call, dims, fold, launch);
}

}  // namespace diopigen::kernels

#endif  // DIOPIGEN_KERNELS_ROWS_H_
