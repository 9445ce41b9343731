// The largest and smallest elements and where they stand.
#include "diopi_core/math.h"
#include "diopi_cuda/reduce.h"
#include "reduction/reduction_kernels.h"

namespace diopigen::cuda {

namespace {

template <typename T>
struct Best {
    T value;
    int64_t at;  // -1 for none
};

template <typename T>
struct Extreme : Reducer<T, Best<T>> {
    using State = Best<T>;
    static constexpr DtypeSet kTyped = std::is_same_v<T, float>    ? kFloat32 | kFloat16 | kBfloat16
                                       : std::is_same_v<T, double> ? kFloat64
                                                                   : kInt64 | kInt32;
    bool is_largest;

    explicit Extreme(bool largest) : is_largest(largest) {}
    DIOPI_DEVICE State identity() const { return {T(0), -1}; }
    // Places rise, so that what equals the best comes too late.
    DIOPI_DEVICE State add(State best, T x, int64_t i) const {
        const bool is_better = is_largest ? x > best.value : x < best.value;
        const bool is_first_nan = x != x && best.value == best.value;
        return is_better || is_first_nan || best.at < 0 ? State{x, i} : best;
    }
    DIOPI_DEVICE State join(State a, State b) const {
        if (a.at < 0 || b.at < 0) {
            return a.at < 0 ? b : a;
        }
        const bool is_nan = b.value != b.value;
        const bool ties = a.value == b.value || (is_nan && a.value != a.value);
        if (ties) {
            return b.at < a.at ? b : a;
        }
        const bool is_better = is_largest ? b.value > a.value : b.value < a.value;
        return is_nan || is_better ? b : a;
    }
};

// Writes the value and the index; null tensors get none.
template <typename T>
struct StoreBest {
    Operand values;
    Operand indices;
    Dims value_dims;
    Dims index_dims;

    StoreBest(const Tensor& value_tensor, const Tensor& index_tensor)
        : value_dims(lie(value_tensor, values)), index_dims(lie(index_tensor, indices)) {}
    DIOPI_DEVICE void operator()(int64_t row, const Best<T>& best) const {
        if (values.data != nullptr) {
            store<T>(values.at(value_dims, row), values.dtype, best.value);
        }
        if (indices.data != nullptr) {
            store<Int64>(indices.at(index_dims, row), indices.dtype, Int64(best.at));
        }
    }

  private:
    static Dims lie(const Tensor& tensor, Operand& operand) {
        operand = Operand();
        if (tensor.is_null()) {
            return Dims();
        }
        require_on_device(tensor);
        const Tensor* tensors[] = {&tensor};
        return walk(tensor, tensors, &operand, 1);
    }
};

template <typename T>
void search(const Tensor& values, const Tensor& indices, const Tensor& input, const Rows& rows, bool is_largest) {
    reduce_rows_into(input, rows, Extreme<T>(is_largest), StoreBest<T>(values, indices));
}

// Every integer is an int64 on the way, every half a float.
void search(const Tensor& values, const Tensor& indices, const Tensor& input, const Rows& rows, bool is_largest) {
    const Dtype dtype = compute_of(input.dtype);
    if (dtype == Dtype::kFloat32) {
        search<float>(values, indices, input, rows, is_largest);
    } else if (dtype == Dtype::kFloat64) {
        search<double>(values, indices, input, rows, is_largest);
    } else {
        search<Int64>(values, indices, input, rows, is_largest);
    }
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

void extreme_values(const Tensor& values, const Tensor& input, const Rows& rows, bool is_largest) {
    cuda::search(values, Tensor(), input, rows, is_largest);
}

void extreme_indices(const Tensor& values, const Tensor& indices, const Tensor& input, const Rows& rows,
                     bool is_largest) {
    cuda::search(values, indices, input, rows, is_largest);
}

}  // namespace diopigen::core
