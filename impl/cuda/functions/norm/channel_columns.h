// What is computed from the elements of channels with few positions: down the columns of the matrix of samples, so that
// a thread keeps what it knows of its channels.
#ifndef DIOPI_CUDA_NORM_CHANNEL_COLUMNS_H_
#define DIOPI_CUDA_NORM_CHANNEL_COLUMNS_H_

#include "columns.h"

namespace diopigen::cuda {

// Calls `body(row)` for the rows of part `k / tiles` that this thread takes, four of them under way together.
template <typename Body>
DIOPI_DEVICE inline void for_rows_of_part(const Group& group, const ColumnParts& columns, int64_t part,
                                          const Body& body) {
    const int tall = group.size() / columns.lanes;
    const int64_t last = (part + 1) * columns.rows_per_part;
    const int64_t end = last < columns.rows ? last : columns.rows;
    DIOPI_AHEAD
    for (int64_t row = part * columns.rows_per_part + group.thread() / columns.lanes; row < end; row += tall) {
        body(row);
    }
}

// y = (x - mean) * factor + offset.
template <typename S, int n>
struct ScaleColumns {
    using T = Computed<S>;

    ColumnParts columns;
    int64_t spatial;
    S* y;
    const S* x;
    const Scaling<S>* scalings;

    DIOPI_DEVICE void operator()(const Group& group, int64_t k) const {
        const int64_t part = quotient(k, columns.tiles);
        const int64_t column = ((k - part * columns.tiles) * columns.lanes + group.thread() % columns.lanes) * n;
        if (column >= columns.columns) {
            return;
        }
        Scaling<S> known[n];
        DIOPI_UNROLL
        for (int i = 0; i < n; ++i) {
            known[i] = scalings[quotient(column + i, spatial)];
        }
        for_rows_of_part(group, columns, part, [&](int64_t row) {
            const int64_t at = row * columns.columns + column;
            T values[n];
            unpack<S, n>(values, load_vector<S, n>(x + at));
            DIOPI_UNROLL
            for (int i = 0; i < n; ++i) {
                values[i] = known[i].centre.distance(values[i]) * known[i].factor + known[i].offset;
            }
            store_vector<S, n>(y + at, values);
        });
    }
};

// Gradients; `x` is null where they do not depend on it.
template <typename S, int n>
struct SlopesOfColumns {
    using T = Computed<S>;

    ColumnParts columns;
    int64_t spatial;
    S* to;
    const S* g;
    const S* x;
    const Slope<S>* slopes;

    DIOPI_DEVICE void operator()(const Group& group, int64_t k) const {
        const int64_t part = quotient(k, columns.tiles);
        const int64_t column = ((k - part * columns.tiles) * columns.lanes + group.thread() % columns.lanes) * n;
        if (column >= columns.columns) {
            return;
        }
        Slope<S> known[n];
        DIOPI_UNROLL
        for (int i = 0; i < n; ++i) {
            known[i] = slopes[quotient(column + i, spatial)];
        }
        for_rows_of_part(group, columns, part, [&](int64_t row) {
            const int64_t at = row * columns.columns + column;
            T gradients[n];
            T values[n] = {};
            unpack<S, n>(gradients, load_vector<S, n>(g + at));
            if (x != nullptr) {
                unpack<S, n>(values, load_vector<S, n>(x + at));
            }
            DIOPI_UNROLL
            for (int i = 0; i < n; ++i) {
                const T slope = x != nullptr ? known[i].centre.distance(values[i]) * known[i].slope : T(0);
                gradients[i] = gradients[i] * known[i].own + slope + known[i].constant;
            }
            store_vector<S, n>(to + at, gradients);
        });
    }
};

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_NORM_CHANNEL_COLUMNS_H_
