// Products of matrices as operators.
#ifndef DIOPIGEN_KERNELS_PRODUCTS_H_
#define DIOPIGEN_KERNELS_PRODUCTS_H_

#include <diopigen_kernels/call.h>
#include <diopigen_kernels/elements.h>
#include <diopigen_kernels/matrix.h>
#include <diopigen_kernels/parallel.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace diopigen::kernels {

/// An operand of a product: matrices of float where they are in memory, or as row-major arrays.
class MatrixInput {
  public:
    /// A matrix, or with `isBatched` one for each index of the first dimension. Without it, all but the last dimension
    /// are rows.
    MatrixInput(const Kernel& kernel, std::size_t position, const Shape& shape, bool isBatched) {
        const Buffer& buffer = kernel.buffer(position);
        const Shape& stride = buffer.stride;
        const std::size_t rank = shape.size();
        if (buffer.dtype == diopi_dtype_float32 && buffer.shape == shape && rank == (isBatched ? 3 : 2)) {
            first_ = {kernel.in<float>(position), stride[rank - 2], stride[rank - 1]};
            batchStride_ = isBatched ? stride[0] : 0;
            return;
        }
        array_.emplace(kernel, position, shape);
        first_ = {array_->data(), shape.back(), 1};
        batchStride_ = isBatched ? shape[1] * shape[2] : 0;
    }

    Matrix<float> at(int64_t batch) const {
        return {first_.data + batch * batchStride_, first_.rowStride, first_.columnStride};
    }

  private:
    std::optional<FloatInput> array_;
    Matrix<float> first_{};
    int64_t batchStride_ = 0;
};

/// Result 0 [..., m, n] is alpha * operand 1 [..., m, k] * operand 2 [k, n] + beta * operand 3, which broadcasts and
/// may be missing; or batches of such. Sums are formed in float.
template <typename Launch>
Status multiplyTensors(const Call& call, bool isBatched, double alpha, double beta, const Launch& launch) {
    if (call.rank(0) < 1 || !call.haveRank({1}, call.rank(0)) || !call.haveRank({2}, isBatched ? 3 : 2) ||
        !call.isOneFloat()) {
        return call.rejected();
    }
    const Shape shape = call.shape(0);
    const int64_t batch = isBatched ? shape[0] : 1, n = shape.back(), k = call.shape(1).back();
    const int64_t rows = product(shape) / std::max<int64_t>(n, 1), m = rows / std::max<int64_t>(batch, 1);
    Shape left = shape, joined = shape;
    left.back() = k;
    const Shape right = isBatched ? Shape{batch, k, n} : Shape{k, n};
    if (!call.haveShape({1}, left) || !call.haveShape({2}, right)) {
        return call.rejected();
    }
    if (!broadcast(&joined, call.shape(3)) || joined != shape) {
        return call.rejected("what is added does not broadcast to the shape of the result");
    }
    const bool isRow = call.has(3) && call.shape(3) == Shape{n};
    return call.launch(launch, [=](const Kernel& kernel) {
        const MatrixInput x(kernel, 1, left, isBatched), y(kernel, 2, right, isBatched);
        std::optional<FloatInput> start;
        FloatOutput out(kernel, 0, shape);
        const bool isAdded = kernel.buffer(3).isTensor && beta != 0;
        if (isAdded) {
            start.emplace(kernel, 3, isRow ? Shape{n} : shape);
        }
        std::unique_ptr<float[]> own;
        float* z = out.data();  // not where an operand is
        if (z == x.at(0).data || z == y.at(0).data || (isAdded && z == start->data())) {
            own.reset(new float[static_cast<std::size_t>(rows * n)]);
            z = own.get();
        }
        constexpr int64_t kProductsOfElement = 16;  // that take as long as an element of grainOf
        forRanges(batch, batch == 1 ? 1 : grainOf(m * n * k / kProductsOfElement), [&](int64_t first, int64_t last) {
            for (int64_t i = first; i < last; ++i) {
                multiplyMatrices(m, k, n, x.at(i), y.at(i), z + i * m * n);
            }
        });
        const auto a = static_cast<float>(alpha), b = static_cast<float>(beta);
        if (isAdded) {
            for (int64_t row = 0; row < rows; ++row) {
                const float* const added = start->data() + (isRow ? 0 : row * n);
                for (int64_t i = 0; i < n; ++i) {
                    out.data()[row * n + i] = a * z[row * n + i] + b * added[i];
                }
            }
        } else if (alpha != 1) {
            std::transform(z, z + rows * n, out.data(), [a](float each) { return a * each; });
        } else if (z != out.data()) {
            std::copy_n(z, rows * n, out.data());
        }
        out.finish();
    });
}

}  // namespace diopigen::kernels

#endif  // DIOPIGEN_KERNELS_PRODUCTS_H_
