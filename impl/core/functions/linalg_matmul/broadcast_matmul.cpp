// Matmul over vectors, matrices and batches that broadcast, and its gradients.
#include <numeric>

#include "batches.h"
#include "diopi_core/arguments.h"
#include "linalg_matmul.h"

using namespace diopigen::core;

namespace {

std::vector<int64_t> strides_of(const Tensor& tensor) { return {tensor.strides, tensor.strides + tensor.rank}; }

// A vector counts as one row on the left, as one column on the right.
View as_matrices(const Tensor& tensor, bool is_left) {
    std::vector<int64_t> shape = shape_of(tensor);
    std::vector<int64_t> strides = strides_of(tensor);
    if (tensor.rank == 1) {
        shape.insert(is_left ? shape.begin() : shape.end(), 1);
        strides.insert(is_left ? strides.begin() : strides.end(), 0);
    }
    return View(tensor, std::move(shape), std::move(strides));
}

// Two factors with their batches broadcast, and what follows for the product.
class Product {
  public:
    Product(const Tensor& input, const Tensor& other)
        : left(as_matrices(input, true)), right(as_matrices(other, false)) {
        const Matrices a(left.tensor());
        const Matrices b(right.tensor());
        rows = a.rows;
        inner = a.columns;
        columns = b.columns;
        const size_t rank = std::max(a.batch.size(), b.batch.size());
        for (size_t i = rank; i > 0; --i) {
            const int64_t left_size = i <= a.batch.size() ? a.batch[a.batch.size() - i] : 1;
            const int64_t right_size = i <= b.batch.size() ? b.batch[b.batch.size() - i] : 1;
            batch.push_back(left_size == 1 ? right_size : left_size);
            count *= batch.back();
        }
        shape = batch;
        left_is_vector = input.rank == 1;
        if (input.rank > 1) {
            shape.push_back(rows);
        }
        if (other.rank > 1) {
            shape.push_back(columns);
        }
    }

    // Contracts take 0-d for [1] as well.
    void require_dimensions(const Tensor& tensor) const { require_rank(tensor, static_cast<int64_t>(shape.size())); }
    View full_left() const { return expanded(left.tensor(), with_batch(rows, inner)); }
    View full_right() const { return expanded(right.tensor(), with_batch(inner, columns)); }
    // Matrices of a factor repeated along the batch of the product.
    View with_batch_of(const Tensor& matrices) const {
        return expanded(matrices, with_batch(matrices.shape[matrices.rank - 2], matrices.shape[matrices.rank - 1]));
    }
    // A tensor of the product's shape as matrices: [*batch, rows, columns].
    View full_product(const Tensor& tensor) const {
        std::vector<int64_t> strides = strides_of(tensor);
        const size_t position = strides.size() - (shape.size() - batch.size());
        if (left_is_vector) {
            strides.insert(strides.begin() + static_cast<int64_t>(position), 0);
        }
        strides.resize(batch.size() + 2, 0);  // where the right factor is a vector, of its one column
        return View(tensor, with_batch(rows, columns), std::move(strides));
    }

    View left;
    View right;
    int64_t rows = 0;
    int64_t inner = 0;
    int64_t columns = 0;
    int64_t count = 1;
    std::vector<int64_t> shape;  // of the product
    std::vector<int64_t> batch;
    bool left_is_vector = false;

  private:
    std::vector<int64_t> with_batch(int64_t first, int64_t second) const {
        std::vector<int64_t> found = batch;
        found.insert(found.end(), {first, second});
        return found;
    }
};

// Tensors [*batch, rows, columns] as [count, rows, columns], from the first of their matrices on.
View matrices_from(const Tensor& tensor, int64_t first, int64_t count, int64_t batch_stride) {
    const int64_t rank = tensor.rank;
    int64_t offset = 0;
    for (int64_t i = rank - 2; i-- > 0; first /= tensor.shape[i]) {
        offset += first % tensor.shape[i] * tensor.strides[i];
    }
    return View(tensor, {count, tensor.shape[rank - 2], tensor.shape[rank - 1]},
                {batch_stride, tensor.strides[rank - 2], tensor.strides[rank - 1]}, offset);
}

// The one distance between neighbours in the batch, if there is one.
std::optional<int64_t> batch_stride(const Tensor& tensor) {
    std::optional<int64_t> stride;
    int64_t next = 0;
    for (int64_t i = tensor.rank - 2; i-- > 0;) {
        if (tensor.shape[i] == 1) {
            continue;
        }
        if (stride && tensor.strides[i] != next) {
            return std::nullopt;
        }
        stride = stride ? *stride : tensor.strides[i];
        next = tensor.strides[i] * tensor.shape[i];
    }
    return stride ? *stride : 0;
}

// out = a b for all matrices of the batch, where each is written once. Takes them together where their strides allow.
void multiply_batch(const Tensor& out, const Tensor& a, const Tensor& b, int64_t count) {
    const auto to = batch_stride(out);
    const auto from_a = batch_stride(a);
    const auto from_b = batch_stride(b);
    const int64_t last = out.rank - 1;
    if (to && from_a && from_b) {
        // One right factor for all: its left factors are one matrix with more rows.
        const bool is_one_matrix = *from_b == 0 && *from_a == a.shape[last - 1] * a.strides[last - 1] &&
                                   *to == out.shape[last - 1] * out.strides[last - 1];
        if (count > 1 && is_one_matrix) {
            const View all_out(out, {1, count * out.shape[last - 1], out.shape[last]},
                               {0, out.strides[last - 1], out.strides[last]});
            const View all_a(a, {1, count * a.shape[last - 1], a.shape[last]},
                             {0, a.strides[last - 1], a.strides[last]});
            multiply_tensors(all_out.tensor(), all_a.tensor(), matrices_from(b, 0, 1, 0).tensor());
        } else {
            multiply_tensors(matrices_from(out, 0, count, *to).tensor(), matrices_from(a, 0, count, *from_a).tensor(),
                             matrices_from(b, 0, count, *from_b).tensor());
        }
        return;
    }
    for (int64_t k = 0; k < count; ++k) {
        multiply_tensors(matrices_from(out, k, 1, 0).tensor(), matrices_from(a, k, 1, 0).tensor(),
                         matrices_from(b, k, 1, 0).tensor());
    }
}

// [*batch, rows, columns] with the last two dimensions exchanged.
View transposed(const Tensor& tensor) {
    std::vector<int64_t> dims(static_cast<size_t>(tensor.rank));
    std::iota(dims.begin(), dims.end(), 0);
    std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
    return permuted(tensor, dims);
}

// The gradient of a factor: the sum over the matrices that it met of a b. `factor` has the batch of the factor, `full`
// shows it with that of the product.
void add_up(const Tensor& factor, const View& full, const Tensor& a, const Tensor& b, int64_t count) {
    if (factor.numel == 0) {
        return;
    }
    const bool is_own = full.tensor().numel == factor.numel;
    if (is_own) {
        multiply_batch(full.tensor(), a, b, count);
        return;
    }
    dispatch_compute<kFloating | kComplex>(factor.dtype, [&](auto sample) {
        using T = decltype(sample);
        Buffer buffer;
        buffer.allocate(factor.numel * static_cast<int64_t>(sizeof(T)));
        const View own = dense_view(buffer.data(), dtype_of<T>, factor, shape_of(factor));
        fill(own.tensor(), Number::of(0));
        const View sums = expanded(own.tensor(), shape_of(full.tensor()));
        const Input<T> left(a);
        const Input<T> right(b);
        const View lefts = dense_view(const_cast<T*>(left.data()), dtype_of<T>, a, shape_of(a));
        const View rights = dense_view(const_cast<T*>(right.data()), dtype_of<T>, b, shape_of(b));
        for (int64_t k = 0; k < count; ++k) {
            const View sum = matrices_from(sums.tensor(), k, 1, 0);
            multiply_tensors(sum.tensor(), matrices_from(lefts.tensor(), k, 1, 0).tensor(),
                             matrices_from(rights.tensor(), k, 1, 0).tensor(), Number::of(1), Number::of(1),
                             sum.tensor());
        }
        copy_elements(factor, own.tensor());
    });
}

}  // namespace

void diopigen::entry::matmul(const MatmulArgs& args) {
    const Product product(args.input, args.other);
    product.require_dimensions(args.out);
    require_apart(args.out, {&args.input, &args.other});
    if (args.out.numel > 0) {
        multiply_batch(product.full_product(args.out).tensor(), product.full_left().tensor(),
                       product.full_right().tensor(), product.count);
    }
}

void diopigen::entry::matmul_backward(const MatmulBackwardArgs& args) {
    const Product product(args.input, args.other);
    product.require_dimensions(args.grad_out);
    require_rank(args.grad_input, args.input.rank);
    require_rank(args.grad_other, args.other.rank);
    require_apart(args.grad_input, {&args.grad_out, &args.input, &args.other, &args.grad_other});
    require_apart(args.grad_other, {&args.grad_out, &args.input, &args.other});
    const View gradient = product.full_product(args.grad_out);
    if (!args.grad_input.is_null()) {
        const View matrices = as_matrices(args.grad_input, true);
        const View full = product.with_batch_of(matrices.tensor());
        const View right = product.full_right();
        const Conjugated factors(right.tensor());
        add_up(matrices.tensor(), full, gradient.tensor(), transposed(factors.tensor()).tensor(), product.count);
    }
    if (!args.grad_other.is_null()) {
        const View matrices = as_matrices(args.grad_other, false);
        const View full = product.with_batch_of(matrices.tensor());
        const View left = product.full_left();
        const Conjugated factors(left.tensor());
        add_up(matrices.tensor(), full, transposed(factors.tensor()).tensor(), gradient.tensor(), product.count);
    }
}
