// Sums down the columns of a matrix: neighbouring threads read neighbouring elements, groups take parts of the rows,
// and the parts are joined in their order.
#ifndef DIOPI_CUDA_NORM_COLUMNS_H_
#define DIOPI_CUDA_NORM_COLUMNS_H_

#include <algorithm>

#include "sums.h"
#include "values.h"

namespace diopigen::cuda {

struct ColumnParts {
    int64_t rows;
    int64_t columns;
    int lanes = 1;              // threads in a row, `n` columns each
    int64_t tiles;              // of columns
    int64_t rows_per_part = 1;  // rows in a part
    int64_t parts = 1;

    ColumnParts(int64_t height, int64_t width, int n) : rows(height), columns(width) {
        while (lanes < 32 && static_cast<int64_t>(lanes) * n < columns) {
            lanes *= 2;
        }
        tiles = std::max<int64_t>(1, (columns + lanes * n - 1) / (lanes * n));
        // Enough groups to fill a GPU, each with a few rows for each of its threads.
        const int64_t tall = kThreads / lanes;
        const int64_t cuts = std::max<int64_t>(1, std::min(512 / std::min<int64_t>(tiles, 512), rows / (tall * 4)));
        rows_per_part = std::max<int64_t>(1, (rows + cuts - 1) / cuts);
        parts = std::max<int64_t>(1, (rows + rows_per_part - 1) / rows_per_part);
    }
    int64_t groups() const { return tiles * parts; }
};

// Two sums for each column, by part, of what `terms` computes from each element. Terms have a type T that they are
// computed in, the columns kWidth that a thread takes, and
//   Column column(int64_t column) const                                           what is known of these columns
//   void operator()(int64_t row, int64_t column, const Column&, T* own, T* product) const
template <typename Terms>
struct ColumnSums {
    using T = typename Terms::T;
    static constexpr int n = Terms::kWidth;

    ColumnParts columns;
    Terms terms;
    double* own;      // [parts, columns]
    double* product;  // the same

    DIOPI_DEVICE void operator()(const Group& group, int64_t k) const {
        const int lanes = columns.lanes < group.size() ? columns.lanes : group.size();
        const int tall = group.size() / lanes;
        const int64_t part = k / columns.tiles;
        const int64_t tile = (k - part * columns.tiles) * lanes * n;
        const int64_t column = tile + group.thread() % lanes * n;
        const int64_t end =
            (part + 1) * columns.rows_per_part < columns.rows ? (part + 1) * columns.rows_per_part : columns.rows;
        double owns[n] = {};
        double products[n] = {};
        const bool is_there = column < columns.columns;
        const auto known = terms.column(is_there ? column : 0);
        for (int64_t row = part * columns.rows_per_part + group.thread() / lanes; is_there && row < end;
             row += 4 * tall) {
            // Four rows together: their loads are under way at one time, and few values become doubles.
            T own_part[n] = {};
            T product_part[n] = {};
            DIOPI_UNROLL
            for (int ahead = 0; ahead < 4; ++ahead) {
                const int64_t at = row + ahead * tall;
                T a[n];
                T b[n];
                terms(at < end ? at : row, column, known, a, b);
                DIOPI_UNROLL
                for (int i = 0; i < n; ++i) {
                    own_part[i] += at < end ? a[i] : T(0);
                    product_part[i] += at < end ? b[i] : T(0);
                }
            }
            DIOPI_UNROLL
            for (int i = 0; i < n; ++i) {
                owns[i] += static_cast<double>(own_part[i]);
                products[i] += static_cast<double>(product_part[i]);
            }
        }
        join(group, lanes, tile, part, owns, own);
        join(group, lanes, tile, part, products, product);
    }

  private:
    DIOPI_DEVICE void join(const Group& group, int lanes, int64_t tile, int64_t part, const double* values,
                           double* to) const {
        auto* const all = group.shared<double>();
        DIOPI_UNROLL
        for (int i = 0; i < n; ++i) {
            all[group.thread() * n + i] = values[i];
        }
        group.sync();
        const int width = lanes * n;
        for (int at = group.thread(); at < width && tile + at < columns.columns; at += group.size()) {
            double sum = all[at];
            for (int from = at + width; from < group.size() * n; from += width) {
                sum += all[from];
            }
            to[part * columns.columns + tile + at] = sum;
        }
        group.sync();
    }
};

// Calls `finish(column, own, product)` with the sums of all parts of each column.
template <typename Finish>
struct FinishColumns {
    int64_t columns;
    int64_t parts;
    const double* own;
    const double* product;
    Finish finish;

    // kLanes columns for each group.
    DIOPI_DEVICE void operator()(const Group& group, int64_t k) const {
        const int64_t column = k * kLanes + group.thread() % kLanes;
        Sums sums;
        DIOPI_AHEAD
        for (int64_t part = group.thread() / kLanes; column < columns && part < parts; part += group.size() / kLanes) {
            sums.own += own[part * columns + column];
            sums.product += product[part * columns + column];
        }
        auto* const all = group.shared<Sums>();
        all[group.thread()] = sums;
        group.sync();
        if (group.thread() < kLanes && column < columns) {
            for (int from = group.thread() + kLanes; from < group.size(); from += kLanes) {
                sums = JoinSums()(sums, all[from]);
            }
            finish(column, sums.own, sums.product);
        }
    }
};

template <typename Terms, typename Finish>
void sum_columns(int64_t rows, int64_t columns, const Terms& terms, const Finish& finish) {
    const ColumnParts parts(rows, columns, Terms::kWidth);
    const Room<double> own(parts.parts * columns);
    const Room<double> product(parts.parts * columns);
    const auto room = static_cast<int64_t>(kThreads * Terms::kWidth * sizeof(double));
    for_groups(columns == 0 ? 0 : parts.groups(), kThreads, room,
               ColumnSums<Terms>{parts, terms, own.data(), product.data()});
    for_groups((columns + kLanes - 1) / kLanes, kThreads, static_cast<int64_t>(kThreads * sizeof(Sums)),
               FinishColumns<Finish>{columns, parts.parts, own.data(), product.data(), finish});
}

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_NORM_COLUMNS_H_
