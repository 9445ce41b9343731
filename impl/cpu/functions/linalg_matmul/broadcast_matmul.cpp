// Matmul over vectors, matrices and batches that broadcast, and its gradients.
#include <diopi/functions.h>

#include "batches.h"

using namespace diopi::cpu;

namespace {

constexpr DtypeSet kFactors = kNumber | kComplex;

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
        : left(as_matrices(checked(input), true)), right(as_matrices(checked(other), false)) {
        const Matrices a(left.tensor());
        const Matrices b(right.tensor());
        require(b.rows == a.columns, "parameter 'other' does not have as many rows as 'input' has columns");
        rows = a.rows;
        inner = a.columns;
        columns = b.columns;
        const size_t rank = std::max(a.batch.size(), b.batch.size());
        for (size_t i = rank; i > 0; --i) {
            const int64_t left_size = i <= a.batch.size() ? a.batch[a.batch.size() - i] : 1;
            const int64_t right_size = i <= b.batch.size() ? b.batch[b.batch.size() - i] : 1;
            require(left_size == right_size || left_size == 1 || right_size == 1,
                    "parameters 'input' and 'other' have batches that do not broadcast");
            batch.push_back(left_size == 1 ? right_size : left_size);
            count *= batch.back();
        }
        shape = batch;
        if (input.rank > 1) {
            shape.push_back(rows);
        }
        if (other.rank > 1) {
            shape.push_back(columns);
        }
    }

    View full_left() const { return expanded(left.tensor(), with_batch(rows, inner)); }
    View full_right() const { return expanded(right.tensor(), with_batch(inner, columns)); }
    // The place in a factor's own batch of matrix k of the whole batch.
    int64_t place(const View& factor, int64_t k) const {
        const Tensor& own = factor.tensor();
        int64_t found = 0;
        int64_t step = 1;
        for (int64_t i = 1; i <= static_cast<int64_t>(batch.size()); ++i) {
            const int64_t at = k % batch[batch.size() - i];
            k /= batch[batch.size() - i];
            if (i <= own.rank - 2) {
                const int64_t size = own.shape[own.rank - 2 - i];
                found += size == 1 ? 0 : at * step;
                step *= size;
            }
        }
        return found;
    }

    View left;
    View right;
    int64_t rows = 0;
    int64_t inner = 0;
    int64_t columns = 0;
    int64_t count = 1;
    std::vector<int64_t> shape;  // of the product

  private:
    static const Tensor& checked(const Tensor& tensor) {
        require_rank(tensor, 1);
        return tensor;
    }
    std::vector<int64_t> with_batch(int64_t first, int64_t second) const {
        std::vector<int64_t> found = batch;
        found.insert(found.end(), {first, second});
        return found;
    }

    std::vector<int64_t> batch;
};

}  // namespace

DIOPI_API diopiError_t diopiMatmul(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                   diopiConstTensorHandle_t input, diopiConstTensorHandle_t other) {
    return guarded("diopiMatmul", [&] {
        const Tensor out_tensor = tensor("out", out, kFactors);
        const Tensor input_tensor = tensor("input", input, kFactors);
        const Tensor other_tensor = tensor("other", other, kFactors);
        const Product product(input_tensor, other_tensor);
        require_shape(out_tensor, product.shape);
        require_same_dtype(input_tensor, out_tensor);
        require_same_dtype(other_tensor, out_tensor);
        check_written(out_tensor, {&input_tensor, &other_tensor});
        const View left = product.full_left();
        const View right = product.full_right();
        dispatch_compute<kFactors>(out_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> a(left.tensor());
            const Input<T> b(right.tensor());
            const Output<T> result(out_tensor);
            for (int64_t k = 0; k < product.count; ++k) {
                T* target = result.data() + k * product.rows * product.columns;
                multiply(a.data() + k * product.rows * product.inner, b.data() + k * product.inner * product.columns,
                         product.rows, product.inner, product.columns,
                         [&](int64_t i, int64_t j, auto sum) { target[i * product.columns + j] = cast<T>(sum); });
            }
            result.store();
        });
    });
}

DIOPI_API diopiError_t diopiMatmulBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t grad_input,
                                           diopiTensorHandle_t grad_other, diopiConstTensorHandle_t grad_out,
                                           diopiConstTensorHandle_t input, diopiConstTensorHandle_t other) {
    return guarded("diopiMatmulBackward", [&] {
        constexpr DtypeSet kDifferentiable = kFloating | kComplex;
        const Tensor grad_input_tensor = optional_tensor("grad_input", grad_input, kDifferentiable);
        const Tensor grad_other_tensor = optional_tensor("grad_other", grad_other, kDifferentiable);
        const Tensor grad_out_tensor = tensor("grad_out", grad_out, kDifferentiable);
        const Tensor input_tensor = tensor("input", input, kDifferentiable);
        const Tensor other_tensor = tensor("other", other, kDifferentiable);
        const Product product(input_tensor, other_tensor);
        require_shape(grad_out_tensor, product.shape);
        require_same_shape(grad_input_tensor, input_tensor);
        require_same_shape(grad_other_tensor, other_tensor);
        for (const Tensor* same : {&grad_input_tensor, &grad_other_tensor, &grad_out_tensor, &other_tensor}) {
            require_same_dtype(*same, input_tensor);
        }
        check_written(grad_input_tensor, {&grad_out_tensor, &input_tensor, &other_tensor, &grad_other_tensor});
        check_written(grad_other_tensor, {&grad_out_tensor, &input_tensor, &other_tensor});
        const View left = product.full_left();
        const View right = product.full_right();
        const int64_t rows = product.rows;
        const int64_t inner = product.inner;
        const int64_t columns = product.columns;
        dispatch_compute<kDifferentiable>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            using Sum = Accumulator<T>;
            const Input<T> gradient(grad_out_tensor);
            // A factor that was broadcast gets the sum over the matrices that it met.
            if (!grad_input_tensor.is_null()) {
                const Input<T> b(right.tensor());
                std::vector<Sum> sums(static_cast<size_t>(input_tensor.numel), Sum(0));
                for (int64_t k = 0; k < product.count; ++k) {
                    Sum* target = sums.data() + product.place(product.left, k) * rows * inner;
                    const std::vector<T> turned = transpose(b.data() + k * inner * columns, inner, columns, true);
                    multiply(
                        gradient.data() + k * rows * columns, turned.data(), rows, columns, inner,
                        [&](int64_t i, int64_t j, Sum sum) { target[i * inner + j] = target[i * inner + j] + sum; });
                }
                const Output<T> result(grad_input_tensor);
                std::transform(sums.begin(), sums.end(), result.data(), [](Sum sum) { return cast<T>(sum); });
                result.store();
            }
            if (!grad_other_tensor.is_null()) {
                const Input<T> a(left.tensor());
                std::vector<Sum> sums(static_cast<size_t>(other_tensor.numel), Sum(0));
                for (int64_t k = 0; k < product.count; ++k) {
                    Sum* target = sums.data() + product.place(product.right, k) * inner * columns;
                    const std::vector<T> turned = transpose(a.data() + k * rows * inner, rows, inner, true);
                    multiply(turned.data(), gradient.data() + k * rows * columns, inner, rows, columns,
                             [&](int64_t i, int64_t j, Sum sum) {
                                 target[i * columns + j] = target[i * columns + j] + sum;
                             });
                }
                const Output<T> result(grad_other_tensor);
                std::transform(sums.begin(), sums.end(), result.data(), [](Sum sum) { return cast<T>(sum); });
                result.store();
            }
        });
    });
}
