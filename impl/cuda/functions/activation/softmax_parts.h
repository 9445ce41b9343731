// Softmax along rows that are cut into parts: the sums of each part, those of the rows, and the results.
#ifndef DIOPI_CUDA_ACTIVATION_SOFTMAX_PARTS_H_
#define DIOPI_CUDA_ACTIVATION_SOFTMAX_PARTS_H_

#include "diopi_cuda/parts.h"
#include "diopi_cuda/rows.h"
#include "softmax.h"

namespace diopigen::cuda {

template <typename S, int n>
struct PartSums {
    using T = Computed<S>;

    RowParts parts;
    const S* from;
    Exponentials* states;

    DIOPI_DEVICE void operator()(const Group& group, int64_t k) const {
        const S* const x = from + parts.row(k) * parts.length + parts.begin(k);
        Exponentials own;
        for_row_vectors<S, n>(group, x, parts.size(k), [&](const T* values, int) { own.template add<n>(values); });
        own = group.reduce(own, JoinExponentials());
        if (group.thread() == 0) {
            states[k] = own;
        }
    }
};

template <typename S, int n>
struct PartProducts {
    using T = Computed<S>;

    RowParts parts;
    const S* grad_out;
    const S* output;
    double* sums;
    bool is_log;

    DIOPI_DEVICE void operator()(const Group& group, int64_t k) const {
        const int64_t first = parts.row(k) * parts.length + parts.begin(k);
        double sum = 0;
        for_row_vectors<S, n>(group, grad_out + first, parts.size(k), [&](const T* g, int at) {
            T y[n];
            if (!is_log) {
                unpack<S, n>(y, load_vector<S, n>(output + first + at));
            }
            T part = 0;
            DIOPI_UNROLL
            for (int i = 0; i < n; ++i) {
                part += is_log ? g[i] : g[i] * y[i];
            }
            sum += static_cast<double>(part);
        });
        sum = group.sum(sum);
        if (group.thread() == 0) {
            sums[k] = sum;
        }
    }
};

// The states of the parts of each row, joined.
template <typename State, typename Join>
void join_rows(const RowParts& parts, State* rows, const State* states, const Join& join) {
    for_groups(parts.rows, threads_for(parts.parts), 0, [=] DIOPI_KERNEL(const Group& group, int64_t row) {
        const State own = join_parts(group, states, row, parts.parts, join);
        if (group.thread() == 0) {
            rows[row] = own;
        }
    });
}

struct Add {
    DIOPI_DEVICE double operator()(double a, double b) const { return a + b; }
};

template <typename S, int n>
struct WriteParts {
    using T = Computed<S>;

    RowParts parts;
    S* to;
    const S* from;
    const Exponentials* rows;
    bool is_log;

    DIOPI_DEVICE void operator()(const Group& group, int64_t k) const {
        const Exponentials row = rows[parts.row(k)];
        const T top = static_cast<T>(row.top);
        const T factor = static_cast<T>(is_log ? numeric::log(row.sum) : 1 / row.sum);
        const int64_t first = parts.row(k) * parts.length + parts.begin(k);
        for_row_vectors<S, n>(group, from + first, parts.size(k), [&](const T* values, int at) {
            T y[n];
            DIOPI_UNROLL
            for (int i = 0; i < n; ++i) {
                y[i] = is_log ? values[i] - top - factor : exponential<S>(values[i] - top) * factor;
            }
            store_vector<S, n>(to + first + at, y);
        });
    }
};

template <typename S, int n>
struct WriteGradientParts {
    using T = Computed<S>;

    RowParts parts;
    S* to;
    const S* grad_out;
    const S* output;
    const double* sums;
    bool is_log;

    DIOPI_DEVICE void operator()(const Group& group, int64_t k) const {
        const T total = static_cast<T>(sums[parts.row(k)]);
        const int64_t first = parts.row(k) * parts.length + parts.begin(k);
        for_row_vectors<S, n>(group, grad_out + first, parts.size(k), [&](const T* g, int at) {
            T y[n];
            unpack<S, n>(y, load_vector<S, n>(output + first + at));
            DIOPI_UNROLL
            for (int i = 0; i < n; ++i) {
                y[i] = is_log ? g[i] - exponential<S>(y[i]) * total : (g[i] - total) * y[i];
            }
            store_vector<S, n>(to + first + at, y);
        });
    }
};

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_ACTIVATION_SOFTMAX_PARTS_H_
