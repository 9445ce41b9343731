// The largest and smallest elements and where they stand.
#include "diopi_cpu/math.h"
#include "diopi_cuda/fold.h"
#include "reduction/kernels.h"

namespace diopi::cuda {

namespace {

template <typename T>
struct Best {
    T value;
    int64_t at;  // -1 for none
};

template <typename T>
struct Extreme {
    using Value = T;
    using State = Best<T>;
    bool is_largest;

    DIOPI_DEVICE State identity() const { return {T(0), -1}; }
    DIOPI_DEVICE State add(State best, Value x, int64_t i) const { return join(best, {x, i}); }
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

template <typename T>
struct ExtremeValue : Extreme<T> {
    DIOPI_DEVICE T finish(const Best<T>& best) const { return best.value; }
};

template <typename T>
struct ExtremePlace : Extreme<T> {
    DIOPI_DEVICE Int64 finish(const Best<T>& best) const { return Int64(best.at); }
};

template <typename T>
void search(const Tensor& values, const Tensor& places, const Tensor& input, const Rows& rows, bool is_largest) {
    const auto folded = fold_rows(row_source(input, rows), ExtremeValue<T>{{is_largest}});
    if (!values.is_null()) {
        finish_rows<T>(values, folded, ExtremeValue<T>{{is_largest}});
    }
    if (!places.is_null()) {
        finish_rows<Int64>(places, folded, ExtremePlace<T>{{is_largest}});
    }
}

// Every integer is an int64 on the way, every half a float.
void search(const Tensor& values, const Tensor& places, const Tensor& input, const Rows& rows, bool is_largest) {
    const Dtype dtype = compute_of(input.dtype);
    if (dtype == Dtype::kFloat32) {
        search<float>(values, places, input, rows, is_largest);
    } else if (dtype == Dtype::kFloat64) {
        search<double>(values, places, input, rows, is_largest);
    } else {
        search<Int64>(values, places, input, rows, is_largest);
    }
}

}  // namespace

}  // namespace diopi::cuda

namespace diopi::cpu {

void extreme_values(const Tensor& values, const Tensor& input, const Rows& rows, bool is_largest) {
    cuda::search(values, Tensor(), input, rows, is_largest);
}

void extreme_places(const Tensor& values, const Tensor& places, const Tensor& input, const Rows& rows,
                    bool is_largest) {
    cuda::search(values, places, input, rows, is_largest);
}

}  // namespace diopi::cpu
