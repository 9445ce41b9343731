// Sums of exponentials, and softmax along a dimension that others follow.
#ifndef DIOPI_CUDA_ACTIVATION_SOFTMAX_H_
#define DIOPI_CUDA_ACTIVATION_SOFTMAX_H_

#include <limits>

#include "diopi_core/dense.h"
#include "diopi_core/math.h"
#include "diopi_core/raw_elements.h"
#include "diopi_cuda/rows.h"

namespace diopigen::cuda {

// exp(x) for elements that are stored as S. For halves by the power of two, which a GPU has an instruction for: what
// rounding x * log2(e) costs is far below what a half can tell.
template <typename S, typename T>
DIOPI_DEVICE inline T exponential(T x) {
    if constexpr (sizeof(S) == 2) {
        return numeric::exp2(x * T(1.4426950408889634));
    } else {
        return exp(x);
    }
}

// The largest of some values, and the sum of the exponentials of all less the largest: built in one pass.
struct Exponentials {
    double top = -std::numeric_limits<double>::infinity();
    double sum = 0;

    // `n` more values.
    template <int n, typename T>
    DIOPI_DEVICE void add(const T* values) {
        T largest = static_cast<T>(top);
        DIOPI_UNROLL
        for (int i = 0; i < n; ++i) {
            largest = larger(largest, values[i]);
        }
        // Of minus infinity alone the sum is 0, not exp(-inf + inf).
        const T shift = largest == lowest<T>() ? T(0) : largest;
        if (static_cast<double>(largest) > top) {
            sum *= static_cast<double>(exp(static_cast<T>(top) - shift));
            top = static_cast<double>(largest);
        }
        T part = 0;
        DIOPI_UNROLL
        for (int i = 0; i < n; ++i) {
            part += exp(values[i] - shift);
        }
        sum += static_cast<double>(part);
    }
};

struct JoinExponentials {
    DIOPI_DEVICE Exponentials operator()(const Exponentials& a, const Exponentials& b) const {
        Exponentials joined;
        joined.top = larger(a.top, b.top);
        // The factor of the larger one is 1, also where both are infinite.
        const auto scaled_sum = [&](const Exponentials& x) {
            return x.top == joined.top ? x.sum : x.sum * numeric::exp(x.top - joined.top);
        };
        joined.sum = scaled_sum(a) + scaled_sum(b);
        return joined;
    }
};

// Columns of `size` elements, each `inner` behind the last: neighbouring threads take neighbouring columns, and several
// threads split one.
struct Columns {
    int64_t count;
    int64_t size;
    int64_t inner;
    int slices = 1;  // threads to a column

    explicit Columns(const DimSplit& split) : count(split.outer * split.inner), size(split.size), inner(split.inner) {
        const int most = available_threads(kThreads);
        slices = size <= 16 ? 1 : size <= 64 ? 4 : size <= 2048 ? 8 : 32;
        slices = slices < most ? slices : most;
    }
    int64_t groups() const {
        const int width = available_threads(kThreads) / slices;
        return (count + width - 1) / width;
    }
    DIOPI_DEVICE int width(const Group& group) const { return group.size() / slices; }
    DIOPI_DEVICE int64_t first(int64_t column) const {
        const int64_t outer = quotient(column, inner);
        return outer * size * inner + (column - outer * inner);
    }
};

// Element i of a column lies `split.inner` elements behind element i - 1. `from` is the input, or grad_output
// with what the operator `output`.
template <typename S>
void softmax_of_columns(bool is_gradient, bool is_log, S* to, const S* from, const S* output, const DimSplit& split);

// The exponentials of each column, and of each of `rows` rows of `length` contiguous elements.
template <typename S>
void exponentials_of_columns(Exponentials* states, const S* from, const DimSplit& split);
template <typename S>
void exponentials_of_rows(Exponentials* states, const S* from, int64_t rows, int64_t length);

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_ACTIVATION_SOFTMAX_H_
