// The passes over sets of spans.h: statistics, sums of gradients, results and gradients.
#ifndef DIOPI_CUDA_NORM_SPAN_KERNELS_H_
#define DIOPI_CUDA_NORM_SPAN_KERNELS_H_

#include "spans.h"

namespace diopigen::cuda {

// The moments of each part of each set; not centred: around 0.
template <typename S, int n>
struct SpanMoments {
    using T = Computed<S>;

    Spans spans;
    const S* x;
    Moments* parts;
    bool is_centred;

    DIOPI_DEVICE void operator()(const Group& group, int64_t k) const {
        const int lanes = spans.lanes;
        // Distances from an element of the set, so that squares of large values do not hide what differs between them.
        const int64_t set = k / spans.parts;
        const T origin = is_centred && spans.length * spans.count > 0 ? origin_of(x[set * spans.length]) : T(0);
        Moments own;
        Sums sums;
        for_pieces(group, spans, k, [&](int64_t begin, int size) {
            for_vectors_of_piece<S, n>(group.thread() & (lanes - 1), lanes, x + begin, size, [&](const T* values, int) {
                // The distances of halves are exact in float, and so are most of their squares.
                using Exact = std::conditional_t<sizeof(S) == 2, float, double>;
                Exact sum = 0;
                Exact squares = 0;
                DIOPI_UNROLL
                for (int i = 0; i < n; ++i) {
                    const Exact distance = static_cast<Exact>(values[i]) - static_cast<Exact>(origin);
                    sum += distance;
                    squares += distance * distance;
                }
                sums.own += static_cast<double>(sum);
                sums.product += static_cast<double>(squares);
                own.count += n;
            });
        });
        sums = group.reduce(sums, JoinSums());
        own.count = group.sum(own.count);
        if (group.thread() == 0) {
            if (own.count > 0) {
                const double shift = is_centred ? sums.own / own.count : 0;
                own.mean = is_centred ? static_cast<double>(origin) + shift : 0;
                own.squares = sums.product - shift * sums.own;
                own.squares = own.squares < 0 ? 0 : own.squares;
            }
            parts[k] = own;
        }
    }
};

// The sums of each part of each set. The mean of set s is means[s / width], 0 where there are none; `weight` has a
// factor for each position in a span, or is null.
template <typename S, int n>
struct SpanSums {
    using T = Computed<S>;

    Spans spans;
    const S* g;
    const S* x;
    const S* weight;
    Values means;
    int64_t width;
    Sums* parts;

    DIOPI_DEVICE void operator()(const Group& group, int64_t k) const {
        const int lanes = spans.lanes;
        const Centre<S> centre(means.get_or(k / spans.parts / width, 0));
        Sums sums;
        for_pieces(group, spans, k, [&](int64_t begin, int size) {
            const S* const factors = weight != nullptr ? weight + begin % spans.length : nullptr;
            for_pairs_of_piece<S, n>(group.thread() & (lanes - 1), lanes, g + begin, x + begin, size,
                                     [&](const T* gradients, const T* values, int at) {
                                         T factor[n];
                                         if (factors != nullptr) {
                                             unpack<S, n>(factor, load_vector<S, n>(factors + at));
                                         }
                                         T own = 0;
                                         T product = 0;
                                         DIOPI_UNROLL
                                         for (int i = 0; i < n; ++i) {
                                             const T gradient =
                                                 factors != nullptr ? gradients[i] * factor[i] : gradients[i];
                                             own += gradient;
                                             product += gradient * centre.distance(values[i]);
                                         }
                                         sums.own += static_cast<double>(own);
                                         sums.product += static_cast<double>(product);
                                     });
        });
        sums = group.reduce(sums, JoinSums());
        if (group.thread() == 0) {
            parts[k] = sums;
        }
    }
};

// Which piece of all spans, in the order of memory, a tile of threads takes.
struct PieceOf {
    bool is_there;
    int64_t row;  // the number of its span in memory
    int64_t begin;
    int64_t position;  // in the span
    int size;

    DIOPI_DEVICE PieceOf(const Spans& spans, int64_t count, const Group& group, int64_t k) {
        const int64_t at = k * (group.size() >> spans.bits) + (group.thread() >> spans.bits);
        is_there = at < count;
        row = spans.pieces == 1 ? at : quotient(at, spans.pieces);
        const int64_t piece = at - row * spans.pieces;
        position = piece * spans.piece;
        begin = row * spans.length + position;
        size = is_there ? spans.size_of(piece) : 0;
    }
};

// y = (x - mean) * factor + offset, by scalings[row % period]; then, where there are weights by position, times them
// and with a bias.
template <typename S, int n>
struct SpanScale {
    using T = Computed<S>;

    Spans spans;
    int64_t pieces;
    int64_t period;
    S* y;
    const S* x;
    const Scaling<S>* scalings;
    const S* weight;
    const S* bias;

    DIOPI_DEVICE void operator()(const Group& group, int64_t k) const {
        const PieceOf piece(spans, pieces, group, k);
        if (!piece.is_there) {
            return;
        }
        const Scaling<S> own = scalings[piece.row - (piece.row < period ? 0 : quotient(piece.row, period) * period)];
        const int lane = group.thread() & (spans.lanes - 1);
        for_vectors_of_piece<S, n>(lane, spans.lanes, x + piece.begin, piece.size, [&](T* values, int at) {
            DIOPI_UNROLL
            for (int i = 0; i < n; ++i) {
                values[i] = own.centre.distance(values[i]) * own.factor + own.offset;
            }
            if (weight != nullptr) {
                T factor[n];
                unpack<S, n>(factor, load_vector<S, n>(weight + piece.position + at));
                DIOPI_UNROLL
                for (int i = 0; i < n; ++i) {
                    values[i] = values[i] * factor[i];
                }
            }
            if (bias != nullptr) {
                T offset[n];
                unpack<S, n>(offset, load_vector<S, n>(bias + piece.position + at));
                DIOPI_UNROLL
                for (int i = 0; i < n; ++i) {
                    values[i] = values[i] + offset[i];
                }
            }
            store_vector<S, n>(y + piece.begin + at, values);
        });
    }
};

// Gradients by slopes[row % period]; `x` is null where they do not depend on it.
template <typename S, int n>
struct SpanSlopes {
    using T = Computed<S>;

    Spans spans;
    int64_t pieces;
    int64_t period;
    S* to;
    const S* g;
    const S* x;
    const Slope<S>* slopes;
    const S* weight;

    DIOPI_DEVICE void operator()(const Group& group, int64_t k) const {
        const PieceOf piece(spans, pieces, group, k);
        if (!piece.is_there) {
            return;
        }
        const Slope<S> own = slopes[piece.row - (piece.row < period ? 0 : quotient(piece.row, period) * period)];
        const int lane = group.thread() & (spans.lanes - 1);
        const S* const values = x != nullptr ? x : g;
        for_pairs_of_piece<S, n>(lane, spans.lanes, g + piece.begin, values + piece.begin, piece.size,
                                 [&](T* gradients, const T* at_values, int at) {
                                     if (weight != nullptr) {
                                         T factor[n];
                                         unpack<S, n>(factor, load_vector<S, n>(weight + piece.position + at));
                                         DIOPI_UNROLL
                                         for (int i = 0; i < n; ++i) {
                                             gradients[i] = gradients[i] * factor[i];
                                         }
                                     }
                                     DIOPI_UNROLL
                                     for (int i = 0; i < n; ++i) {
                                         const T slope =
                                             x != nullptr ? own.centre.distance(at_values[i]) * own.slope : T(0);
                                         gradients[i] = gradients[i] * own.own + slope + own.constant;
                                     }
                                     store_vector<S, n>(to + piece.begin + at, gradients);
                                 });
    }
};

// ---- Launches. ----

// How elements of S lie for accesses of 16 bytes: all of `arrays` are read or written span by span.
template <typename S, typename Body>
void dispatch_spans(int64_t length, std::initializer_list<const void*> arrays, Body&& body) {
    dispatch_vectors<S>(can_vectorize<S>(length, arrays), std::forward<Body>(body));
}

inline int64_t groups_of_pieces(const Spans& spans) {
    const int tiles = available_threads(kThreads) / spans.lanes;
    return (spans.all_pieces() + tiles - 1) / tiles;
}

template <typename S>
void scale_spans(int64_t rows, int64_t length, int64_t period, S* y, const S* x, const Scaling<S>* scalings,
                 const S* weight, const S* bias) {
    dispatch_spans<S>(length, {y, x, weight, bias}, [&](auto width) {
        constexpr int n = decltype(width)::value;
        const Spans spans(rows, 1, length, n);
        for_groups(length == 0 ? 0 : groups_of_pieces(spans), kThreads, 0,
                   SpanScale<S, n>{spans, spans.all_pieces(), period, y, x, scalings, weight, bias});
    });
}

template <typename S>
void slopes_of_spans(int64_t rows, int64_t length, int64_t period, S* to, const S* g, const S* x,
                     const Slope<S>* slopes, const S* weight) {
    dispatch_spans<S>(length, {to, g, x, weight}, [&](auto width) {
        constexpr int n = decltype(width)::value;
        const Spans spans(rows, 1, length, n);
        for_groups(length == 0 ? 0 : groups_of_pieces(spans), kThreads, 0,
                   SpanSlopes<S, n>{spans, spans.all_pieces(), period, to, g, x, slopes, weight});
    });
}

// What was found for the parts of sets.
template <typename State>
struct PartStates {
    Room<State> room;
    int64_t parts;
    const State* data() const { return room.data(); }
};

template <typename S>
PartStates<Moments> moments_of_spans(int64_t sets, int64_t count, int64_t length, const S* x, bool is_centred) {
    PartStates<Moments> result{Room<Moments>(0), 1};
    dispatch_spans<S>(length, {x}, [&](auto width) {
        constexpr int n = decltype(width)::value;
        const Spans spans(sets, count, length, n);
        result = {Room<Moments>(spans.groups()), spans.parts};
        for_groups(spans.groups(), kThreads, 0, SpanMoments<S, n>{spans, x, result.room.data(), is_centred});
    });
    return result;
}

template <typename S>
PartStates<Sums> sums_of_spans(int64_t sets, int64_t count, int64_t length, const S* g, const S* x, const S* weight,
                               const Values& means, int64_t per_mean) {
    PartStates<Sums> result{Room<Sums>(0), 1};
    dispatch_spans<S>(length, {g, x, weight}, [&](auto width) {
        constexpr int n = decltype(width)::value;
        const Spans spans(sets, count, length, n);
        result = {Room<Sums>(spans.groups()), spans.parts};
        for_groups(spans.groups(), kThreads, 0,
                   SpanSums<S, n>{spans, g, x, weight, means, per_mean, result.room.data()});
    });
    return result;
}

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_NORM_SPAN_KERNELS_H_
