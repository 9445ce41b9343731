// Contiguous sets of elements that fit in the registers of a group: read once, written once.
#ifndef DIOPI_CUDA_NORM_HELD_H_
#define DIOPI_CUDA_NORM_HELD_H_

#include "diopi_cuda/rows.h"
#include "sums.h"
#include "values.h"

namespace diopigen::cuda {

// Weights and biases by position in the set. Null ones are 1 and 0.
struct ByPosition {
    struct Set {};

    DIOPI_DEVICE Set of(int64_t) const { return {}; }
    template <int n, typename S>
    DIOPI_DEVICE void get(Computed<S>* to, const S* from, const Set&, int at) const {
        unpack<S, n>(to, load_vector<S, n>(from + at));
    }
};

// By channel, of which each set has `width` and each sample `per_sample` sets. No vector has elements of two channels.
struct ByChannel {
    int64_t per_sample;
    int64_t width;
    int64_t spatial;

    struct Set {
        int64_t channel;
    };

    DIOPI_DEVICE Set of(int64_t set) const { return {set % per_sample * width}; }
    template <int n, typename S>
    DIOPI_DEVICE void get(Computed<S>* to, const S* from, const Set& set, int at) const {
        const auto i = static_cast<uint32_t>(at) / static_cast<uint32_t>(spatial);
        const auto all = static_cast<Computed<S>>(from[set.channel + i]);
        DIOPI_UNROLL
        for (int k = 0; k < n; ++k) {
            to[k] = all;
        }
    }
};

template <typename S, int n, typename Parameters>
struct HeldNormal {
    using T = Computed<S>;
    static constexpr int kHeld = n == 1 ? 16 : sizeof(S) == 2 ? 4 : 8;

    RowTiles sets;
    S* y;
    const S* x;
    const S* weight;
    const S* bias;
    Parameters parameters;
    Values means;          // may be missing
    Values invstds;        // may be missing
    double inverse_count;  // of one element in the mean
    double eps;
    bool is_centred;

    DIOPI_DEVICE void operator()(const Group& group, int64_t k) const {
        const ThreadTile tile(group, sets.tile);
        const int64_t set = sets.row(group, k);
        const int length = sets.length_of(set);
        T values[kHeld * n];
        load_row<S, n, kHeld>(values, x + set * sets.length, length, tile, T(0));
        double mean = 0;
        if (is_centred) {
            // The mean of floats is as exact as in double.
            constexpr int kTogether = sizeof(S) == 2 ? n : 1;
            mean = tile.sum(sum_of<kTogether, kHeld * n / kTogether>(values)) * inverse_count;
            const Centre<S> centre(mean);
            DIOPI_UNROLL
            for (int i = 0; i < kHeld * n; ++i) {
                values[i] = centre.distance(values[i]);
            }
        }
        double squares = 0;
        DIOPI_UNROLL
        for (int v = 0; v < kHeld; ++v) {
            T part = 0;
            DIOPI_UNROLL
            for (int i = v * n; i < (v + 1) * n; ++i) {
                part += values[i] * values[i];
            }
            squares += (v * tile.size() + tile.thread()) * n < length ? static_cast<double>(part) : 0.0;
        }
        // For halves a float is more than enough.
        using Exact = std::conditional_t<sizeof(S) == 2, float, double>;
        const Exact invstd = Exact(1) / numeric::sqrt(static_cast<Exact>(tile.sum(squares) * inverse_count + eps));
        if (set < sets.rows && tile.thread() == 0) {
            means.set_if_there(set, mean);
            invstds.set_if_there(set, static_cast<double>(invstd));
        }
        scale(values, set, length, tile, static_cast<T>(invstd));
        store_row<S, n, kHeld>(y + set * sets.length, values, length, tile);
    }

  private:
    DIOPI_DEVICE void scale(T* values, int64_t set, int length, const ThreadTile& tile, T invstd) const {
        const auto known = parameters.of(set);
        DIOPI_UNROLL
        for (int v = 0; v < kHeld; ++v) {
            const int at = (v * tile.size() + tile.thread()) * n;
            T factors[n];
            T offsets[n];
            if (weight != nullptr && at < length) {
                parameters.template get<n>(factors, weight, known, at);
            }
            if (bias != nullptr && at < length) {
                parameters.template get<n>(offsets, bias, known, at);
            }
            DIOPI_UNROLL
            for (int i = 0; i < n; ++i) {
                const T scaled = values[v * n + i] * (weight != nullptr ? invstd * factors[i] : invstd);
                values[v * n + i] = bias != nullptr ? scaled + offsets[i] : scaled;
            }
        }
    }
};

// Gradients of rows with a weight for each position.
template <typename S, int n>
struct HeldGradient {
    using T = Computed<S>;
    static constexpr int kHeld = n == 1 ? 16 : 4;

    RowTiles rows;
    S* to;
    const S* g;
    const S* x;
    const S* weight;
    Values means;  // missing: not centred
    Values invstds;
    double inverse_count;  // of one element in the mean
    Scaling<S>* saved;     // the statistics as they were used; may be null

    DIOPI_DEVICE void operator()(const Group& group, int64_t k) const {
        const ThreadTile tile(group, rows.tile);
        const int64_t row = rows.row(group, k);
        const bool is_there = row < rows.rows;
        const int length = rows.length_of(row);
        const int64_t first = row * rows.length;
        T gradients[kHeld * n];
        T values[kHeld * n];
        load_row<S, n, kHeld>(gradients, g + first, length, tile, T(0));
        load_row<S, n, kHeld>(values, x + first, length, tile, T(0));
        const Centre<S> centre(is_there ? means.get_or(row, 0) : 0);
        const T invstd = static_cast<T>(is_there ? invstds.get(row) : 0);
        if (saved != nullptr && is_there && tile.thread() == 0) {
            saved[row] = {centre, invstd, T(0)};
        }
        Sums sums;
        DIOPI_UNROLL
        for (int v = 0; v < kHeld; ++v) {
            const int at = (v * tile.size() + tile.thread()) * n;
            if (weight != nullptr && at < length) {
                T factors[n];
                unpack<S, n>(factors, load_vector<S, n>(weight + at));
                DIOPI_UNROLL
                for (int i = 0; i < n; ++i) {
                    gradients[v * n + i] = gradients[v * n + i] * factors[i];
                }
            }
            T own = 0;
            T product = 0;
            DIOPI_UNROLL
            for (int i = v * n; i < (v + 1) * n; ++i) {
                // In units of the deviation.
                values[i] = centre.distance(values[i]) * invstd;
                own += gradients[i];
                product += gradients[i] * values[i];
            }
            sums.own += static_cast<double>(own);
            sums.product += static_cast<double>(product);
        }
        sums = tile.reduce(sums, JoinSums());
        const T through_mean = static_cast<T>(means.is_there() ? sums.own * inverse_count : 0);
        const T through_deviation = static_cast<T>(sums.product * inverse_count);
        DIOPI_UNROLL
        for (int i = 0; i < kHeld * n; ++i) {
            gradients[i] = (gradients[i] - through_mean - values[i] * through_deviation) * invstd;
        }
        store_row<S, n, kHeld>(to + first, gradients, length, tile);
    }
};

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_NORM_HELD_H_
