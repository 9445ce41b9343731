// Moments of channels, and sums of their gradients, over all samples: along the positions of a channel, or down the
// columns of the matrix of samples where a channel has few positions.
#ifndef DIOPI_CUDA_NORM_CHANNEL_SUMS_H_
#define DIOPI_CUDA_NORM_CHANNEL_SUMS_H_

#include "columns.h"
#include "norm/norm_kernels.h"
#include "span_kernels.h"

namespace diopigen::cuda {

// With fewer positions neighbours in memory are read together down the columns alone.
constexpr int64_t kFewPositions = 8;

inline bool has_positions(const Channels& channels) {
    return channels.spatial >= kFewPositions || channels.count == 0 || channels.elements() == 0;
}

// Distances from the first sample, whose position in the moments is held apart by column.
template <typename S, int n>
struct MomentTerms {
    // The squares of floats are as exact as in double.
    using T = std::conditional_t<sizeof(S) == 2, float, double>;
    static constexpr int kWidth = n;
    struct Column {
        T origin[n];
    };

    const S* x;
    int64_t columns;

    DIOPI_DEVICE Column column(int64_t column) const {
        Column result;
        for (int i = 0; i < n; ++i) {
            result.origin[i] = static_cast<T>(origin_of(x[column + i]));
        }
        return result;
    }
    DIOPI_DEVICE void operator()(int64_t row, int64_t column, const Column& known, T* own, T* product) const {
        Computed<S> values[n];
        unpack<S, n>(values, load_vector<S, n>(x + row * columns + column));
        DIOPI_UNROLL
        for (int i = 0; i < n; ++i) {
            own[i] = static_cast<T>(values[i]) - known.origin[i];
            product[i] = own[i] * own[i];
        }
    }
};

template <typename S>
struct WriteMoments {
    const S* x;
    double count;
    Moments* to;

    DIOPI_DEVICE void operator()(int64_t column, double own, double product) const {
        const double shift = own / count;
        const double squares = product - shift * own;
        Moments& moments = to[column];
        moments.count = count;
        moments.mean = static_cast<double>(origin_of(x[column])) + shift;
        moments.squares = squares < 0 ? 0 : squares;
    }
};

template <typename S, int n>
struct ChannelTerms {
    using T = Computed<S>;
    static constexpr int kWidth = n;
    struct Column {
        Centre<S> centres[n];
    };

    const S* g;
    const S* x;
    int64_t columns;
    int64_t spatial;
    Values means;

    DIOPI_DEVICE Column column(int64_t column) const {
        Column result;
        for (int i = 0; i < n; ++i) {
            result.centres[i] = Centre<S>(means.get(quotient(column + i, spatial)));
        }
        return result;
    }
    DIOPI_DEVICE void operator()(int64_t row, int64_t column, const Column& known, T* own, T* product) const {
        T values[n];
        unpack<S, n>(own, load_vector<S, n>(g + row * columns + column));
        unpack<S, n>(values, load_vector<S, n>(x + row * columns + column));
        DIOPI_UNROLL
        for (int i = 0; i < n; ++i) {
            product[i] = own[i] * known.centres[i].distance(values[i]);
        }
    }
};

struct WriteSums {
    Sums* to;
    DIOPI_DEVICE void operator()(int64_t column, double own, double product) const { to[column] = {own, product}; }
};

// The moments of each channel, in parts.
template <typename S>
PartStates<Moments> moments_of_channels(const Channels& channels, const S* x) {
    if (has_positions(channels)) {
        return moments_of_spans<S>(channels.count, channels.samples, channels.spatial, x, true);
    }
    const int64_t columns = channels.count * channels.spatial;
    PartStates<Moments> result{Room<Moments>(columns), channels.spatial};
    dispatch_spans<S>(columns, {x}, [&](auto vector) {
        sum_columns(channels.samples, columns, MomentTerms<S, decltype(vector)::value>{x, columns},
                    WriteMoments<S>{x, static_cast<double>(channels.samples), result.room.data()});
    });
    return result;
}

// The sums of the gradients of each channel, in parts.
template <typename S>
PartStates<Sums> sums_of_channels(const Channels& channels, const S* g, const S* x, const Values& means) {
    if (has_positions(channels)) {
        return sums_of_spans<S>(channels.count, channels.samples, channels.spatial, g, x, nullptr, means, 1);
    }
    const int64_t columns = channels.count * channels.spatial;
    PartStates<Sums> result{Room<Sums>(columns), channels.spatial};
    dispatch_spans<S>(columns, {g, x}, [&](auto vector) {
        const ChannelTerms<S, decltype(vector)::value> terms{g, x, columns, channels.spatial, means};
        sum_columns(channels.samples, columns, terms, WriteSums{result.room.data()});
    });
    return result;
}

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_NORM_CHANNEL_SUMS_H_
