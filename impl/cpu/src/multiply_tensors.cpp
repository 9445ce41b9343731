// Products of tensors: which of them are multiplied where they lie, and which as copies.
#include <optional>

#include "diopi_core/gemm.h"
#include "diopi_cpu/finite.h"
#include "multiply_halves.h"
#include "onednn.h"

namespace diopigen::core {

using namespace cpu;

namespace {

bool is_aligned(const Tensor& tensor, Dtype dtype) {
    return reinterpret_cast<uintptr_t>(tensor.data) % static_cast<uintptr_t>(size_of(dtype)) == 0;
}

// Whether the rows of [batch, rows, columns] are contiguous.
bool has_rows(const Tensor& tensor) {
    return (tensor.strides[2] == 1 || tensor.shape[2] == 1) &&
           (tensor.strides[1] >= tensor.shape[2] || tensor.shape[1] == 1);
}

View transposed(const Tensor& tensor) { return permuted(tensor, {0, 2, 1}); }

// The distance of two rows; that of a single row is taken for its length.
int64_t row_stride(const Tensor& tensor) {
    return tensor.shape[1] == 1 ? std::max<int64_t>(tensor.shape[2], 1) : tensor.strides[1];
}

// A factor as `gemm` takes it: in place where its rows or columns are contiguous, else as a copy. T is its dtype, or
// float for halves.
template <typename T>
class Factor {
  public:
    explicit Factor(const Tensor& tensor) : is_transposed_(!has_rows(tensor) && has_rows(transposed(tensor).tensor())) {
        // A batch of one matrix repeated is one matrix.
        const int64_t batch_stride = tensor.shape[0] == 1 ? 0 : tensor.strides[0];
        const int64_t own = batch_stride == 0 ? 1 : tensor.shape[0];
        const int down = is_transposed_ ? 2 : 1;
        const int across = is_transposed_ ? 1 : 2;
        view_.emplace(tensor, std::vector<int64_t>{own, tensor.shape[down], tensor.shape[across]},
                      std::vector<int64_t>{batch_stride, tensor.strides[down], tensor.strides[across]});
        const Tensor& lying = view_->tensor();
        if (tensor.dtype == dtype_of<T> && has_rows(lying) && is_aligned(tensor, tensor.dtype)) {
            matrix_ = {tensor.elements<const T>(), row_stride(lying), is_transposed_, batch_stride};
        } else {
            copy_.emplace(lying);
            const int64_t columns = lying.shape[2];
            matrix_ = {copy_->data(), std::max<int64_t>(columns, 1), is_transposed_,
                       batch_stride == 0 ? 0 : lying.shape[1] * columns};
        }
    }
    const Matrix<T>& matrix() const { return matrix_; }

  private:
    bool is_transposed_;
    std::optional<View> view_;
    std::optional<Input<T>> copy_;
    Matrix<T> matrix_{};
};

bool is_same_memory(const Tensor& left, const Tensor& right) {
    return left.data == right.data && left.dtype == right.dtype &&
           std::equal(left.shape, left.shape + left.rank, right.shape, right.shape + right.rank) &&
           std::equal(left.strides, left.strides + left.rank, right.strides);
}

// Everything about a call but the type that it is computed in.
struct Call {
    const Tensor& out;
    const Tensor& a;
    const Tensor& b;
    Number alpha;
    Number beta;
    const Tensor& added;  // [batch, rows, columns] by strides of 0

    bool adds() const { return beta.value() != 0; }
    ProductSize size() const { return {a.shape[1], a.shape[2], b.shape[2], out.shape[0]}; }
};

// Room for results in row-major order, in the type that they are computed in.
template <typename T>
class Sums {
  public:
    explicit Sums(const Tensor& out) : out_(out) { buffer_.allocate(out.numel * static_cast<int64_t>(sizeof(T))); }
    T* data() const { return static_cast<T*>(buffer_.data()); }
    void load(const Tensor& tensor) const { copy_elements(view().tensor(), tensor); }
    void store() const { copy_elements(out_, view().tensor()); }

  private:
    View view() const {
        Tensor base = out_;
        base.dtype = dtype_of<T>;
        base.data = buffer_.data();
        return View(base, shape_of(out_), {out_.shape[1] * out_.shape[2], out_.shape[2], 1});
    }

    const Tensor& out_;
    Buffer buffer_;
};

template <typename T>
void multiply_floats(const Call& call) {
    const Tensor& out = call.out;
    if (!has_rows(out) && has_rows(transposed(out).tensor())) {
        const View transposed_out = transposed(out);
        const View transposed_a = transposed(call.a);
        const View transposed_b = transposed(call.b);
        const View added = call.adds() ? transposed(call.added) : View(Tensor(), {}, {});
        multiply_floats<T>({transposed_out.tensor(), transposed_b.tensor(), transposed_a.tensor(), call.alpha,
                            call.beta, added.tensor()});
        return;
    }
    const Factor<T> a(call.a);
    const Factor<T> b(call.b);
    const T alpha = call.alpha.as<T>();
    const T beta = call.beta.as<T>();
    if (out.dtype == dtype_of<T> && has_rows(out) && is_aligned(out, out.dtype)) {
        if (call.adds() && !is_same_memory(out, call.added)) {
            copy_elements(out, call.added);
        }
        gemm<T>(call.size(), alpha, a.matrix(), b.matrix(), beta, out.elements<T>(), row_stride(out), out.strides[0]);
        return;
    }
    const Sums<T> sums(out);
    if (call.adds()) {
        sums.load(call.added);
    }
    const int64_t columns = out.shape[2];
    gemm<T>(call.size(), alpha, a.matrix(), b.matrix(), beta, sums.data(), std::max<int64_t>(columns, 1),
            out.shape[1] * columns);
    sums.store();
}

// Whether the rows of [batch, rows, columns], which are contiguous, hold nothing but numbers.
bool has_numbers(const Tensor& tensor) {
    const auto* data = tensor.elements<const Bfloat16>();
    const int64_t columns = tensor.shape[2];
    if (is_contiguous(tensor)) {
        return are_finite(data, tensor.numel);
    }
    for (int64_t row = 0; row < tensor.shape[0] * tensor.shape[1]; ++row) {
        const int64_t at = row / tensor.shape[1] * tensor.strides[0] + row % tensor.shape[1] * tensor.strides[1];
        if (!are_finite(data + at, columns)) {
            return false;
        }
    }
    return true;
}

// Products of bfloat16 by oneDNN; false where it has none, or where the result is not finite: which of infinity and NaN
// it gives follows the kernel, and so the processor. Own loops give the same on all. A summand
// that is the output is as it was then.
bool multiply_bfloat16(const Call& call) {
    const Tensor& out = call.out;
    if (out.dtype != Dtype::kBfloat16 || !has_rows(out)) {
        return false;
    }
    std::optional<Sums<Bfloat16>> before;
    if (call.adds() && is_same_memory(out, call.added)) {
        before.emplace(out);
        before->load(out);
    }
    const Factor<Bfloat16> a(call.a);
    const Factor<Bfloat16> b(call.b);
    if (call.adds() && !before) {
        copy_elements(out, call.added);
    }
    const bool is_done =
        onednn::multiply(call.size(), call.alpha.as<float>(), a.matrix(), b.matrix(), call.beta.as<float>(),
                         out.elements<Bfloat16>(), row_stride(out), out.strides[0]);
    if (is_done && has_numbers(out)) {
        return true;
    }
    if (before) {
        before->store();
    }
    return false;
}

// Integers and complex numbers.
template <typename T>
void multiply_exactly(const Call& call) {
    using Sum = Accumulator<T>;
    const ProductSize size = call.size();
    const Input<T> added(call.adds() ? call.added : Tensor());
    const Input<T> left(call.a);
    const Input<T> right(call.b);
    const Output<T> result(call.out);
    const auto alpha = call.alpha.as<Sum>();
    const auto beta = call.beta.as<Sum>();
    for (int64_t k = 0; k < size.count; ++k) {
        const auto finish = [&](int64_t i, int64_t j, Sum sum) {
            const int64_t at = (k * size.rows + i) * size.columns + j;
            const Sum product = alpha * sum;
            result[at] = cast<T>(added ? beta * cast<Sum>(added[at]) + product : product);
        };
        multiply(left.data() + k * size.rows * size.inner, right.data() + k * size.inner * size.columns, size.rows,
                 size.inner, size.columns, finish);
    }
    result.store();
}

}  // namespace

void multiply_tensors(const Tensor& out, const Tensor& a, const Tensor& b, Number alpha, Number beta,
                      const Tensor& added) {
    if (out.numel == 0) {
        return;
    }
    const View summand = added.is_null() ? View(Tensor(), {}, {}) : expanded(added, shape_of(out));
    const Call call{out, a, b, alpha, added.is_null() ? Number::of(0) : beta, summand.tensor()};
    if (multiply_bfloat16(call) || multiply_halves(out, a, b, call.alpha, call.beta, call.added)) {
        return;
    }
    dispatch_compute<kNumber | kComplex>(out.dtype, [&](auto sample) {
        using T = decltype(sample);
        if constexpr (std::is_floating_point_v<T>) {
            multiply_floats<T>(call);
        } else {
            multiply_exactly<T>(call);
        }
    });
}

}  // namespace diopigen::core
