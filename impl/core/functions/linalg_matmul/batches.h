// Tensors as batches of matrices: dimensions before the last two count the matrices.
#ifndef DIOPI_CORE_LINALG_MATMUL_BATCHES_H_
#define DIOPI_CORE_LINALG_MATMUL_BATCHES_H_

#include <algorithm>
#include <optional>
#include <vector>

#include "diopi_core/gemm.h"
#include "diopi_core/math.h"
#include "diopi_core/reduction.h"

namespace diopigen::core {

struct Matrices {
    int64_t count = 1;
    int64_t rows = 0;
    int64_t columns = 0;
    std::vector<int64_t> batch;

    explicit Matrices(const Tensor& tensor) {
        require_rank(tensor, 2);
        rows = tensor.shape[tensor.rank - 2];
        columns = tensor.shape[tensor.rank - 1];
        batch.assign(tensor.shape, tensor.shape + tensor.rank - 2);
        for (const int64_t size : batch) {
            count *= size;
        }
    }
    int64_t size() const { return rows * columns; }
    // The shape of matrices of other sizes in the same batch.
    std::vector<int64_t> shape(int64_t other_rows, int64_t other_columns) const {
        std::vector<int64_t> found = batch;
        found.insert(found.end(), {other_rows, other_columns});
        return found;
    }
};

// The transpose of a row-major matrix, its elements conjugated where `conjugated` holds.
template <typename T>
std::vector<T> transpose(const T* from, int64_t rows, int64_t columns, bool conjugated) {
    std::vector<T> to(static_cast<size_t>(rows * columns));
    for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
            to[j * rows + i] = conjugated ? conj(from[i * columns + j]) : from[i * columns + j];
        }
    }
    return to;
}

// The elements, conjugated.
template <typename T>
std::vector<T> conjugate(const T* from, int64_t count) {
    std::vector<T> to(from, from + count);
    if constexpr (is_complex_type<T>) {
        std::transform(to.begin(), to.end(), to.begin(), [](T x) { return std::conj(x); });
    }
    return to;
}

// A matrix as a batch of one.
inline View as_batch(const Tensor& matrix) {
    return View(matrix, {1, matrix.shape[0], matrix.shape[1]}, {0, matrix.strides[0], matrix.strides[1]});
}

// A tensor over elements in row-major order.
inline View dense_view(void* data, Dtype dtype, const Tensor& like, std::vector<int64_t> shape) {
    Tensor base = like;
    base.data = data;
    base.dtype = dtype;
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t i = shape.size(); i-- > 1;) {
        strides[i - 1] = strides[i] * shape[i];
    }
    return View(base, std::move(shape), std::move(strides));
}

// A tensor as one matrix: all dimensions but the last count the rows. In place where its strides allow; else a copy,
// which `store` brings back.
class AsMatrix {
  public:
    explicit AsMatrix(const Tensor& tensor, bool is_read = true);
    const Tensor& tensor() const { return view_->tensor(); }
    void store() const;

  private:
    const Tensor& original_;
    Buffer copy_;
    std::optional<View> view_;
};

// The tensor, or where it is complex a copy with its elements conjugated.
class Conjugated {
  public:
    explicit Conjugated(const Tensor& tensor);
    const Tensor& tensor() const { return view_->tensor(); }

  private:
    Buffer copy_;
    std::optional<View> view_;
};

}  // namespace diopigen::core

#endif  // DIOPI_CORE_LINALG_MATMUL_BATCHES_H_
