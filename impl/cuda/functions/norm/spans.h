// Long sets of elements: cut into pieces that a few neighbouring threads read together. Statistics are computed in
// parts, each by one group, which depend on the shape alone; results piece by piece.
#ifndef DIOPI_CUDA_NORM_SPANS_H_
#define DIOPI_CUDA_NORM_SPANS_H_

#include <algorithm>

#include "diopi_cuda/rows.h"
#include "sums.h"
#include "values.h"

namespace diopigen::cuda {

// Set s has `count` spans of `length` elements; its span j begins at (j * sets + s) * length. So rows have one span
// each, and channels one in each sample.
struct Spans {
    static constexpr int64_t kPiece = 2048;

    int64_t sets;
    int64_t count;
    int64_t length;
    int64_t pieces;               // of a span
    int64_t piece;                // elements in one, but for the last
    int64_t parts = 1;            // of a set
    int64_t pieces_per_part = 1;  // pieces in a part
    int lanes = 1;                // threads to a piece: 1 << bits
    int bits = 0;

    // For accesses of `n` elements.
    Spans(int64_t all, int64_t each, int64_t size, int n) : sets(all), count(each), length(size) {
        const int64_t target_parts = std::max<int64_t>(1, (length + kPiece - 1) / kPiece);
        piece = std::max<int64_t>(n, ((length + target_parts - 1) / target_parts + n - 1) / n * n);
        pieces = std::max<int64_t>(1, (length + piece - 1) / piece);
        while (lanes < 32 && static_cast<int64_t>(lanes) * n * 2 < std::min(piece, length)) {
            lanes = 1 << ++bits;
        }
        // Enough groups to fill a GPU, as long as there are 4096 elements for each.
        const int64_t tiles = kThreads / lanes;
        const int64_t elements = count * length;
        const int64_t fill =
            std::min<int64_t>((2047 + std::max<int64_t>(sets, 1)) / std::max<int64_t>(sets, 1), elements / 4096);
        const int64_t cuts = std::max<int64_t>({1, fill, elements / 65536});
        pieces_per_part = std::max<int64_t>(1, (count * pieces + cuts - 1) / cuts);
        pieces_per_part = (pieces_per_part + tiles - 1) / tiles * tiles;
        parts = std::max<int64_t>(1, (count * pieces + pieces_per_part - 1) / pieces_per_part);
    }

    int64_t groups() const { return sets * parts; }
    int64_t all_pieces() const { return sets * count * pieces; }
    DIOPI_DEVICE int size_of(int64_t at) const {
        const int64_t left = length - at * piece;
        return static_cast<int>(left < piece ? left : piece);
    }
};

// Calls `body(begin, size)` for the pieces of part `k % parts` of set `k / parts` that the tile of this thread takes.
template <typename Body>
DIOPI_DEVICE inline void for_pieces(const Group& group, const Spans& spans, int64_t k, const Body& body) {
    const auto set = static_cast<int64_t>(static_cast<uint32_t>(k) / static_cast<uint32_t>(spans.parts));
    const int64_t first = (k - set * spans.parts) * spans.pieces_per_part;
    const int64_t last = first + spans.pieces_per_part < spans.count * spans.pieces ? first + spans.pieces_per_part
                                                                                    : spans.count * spans.pieces;
    for (int64_t at = first + (group.thread() >> spans.bits); at < last; at += group.size() >> spans.bits) {
        const int64_t span = spans.pieces == 1 ? at : quotient(at, spans.pieces);
        const int64_t piece = at - span * spans.pieces;
        body((span * spans.sets + set) * spans.length + piece * spans.piece, spans.size_of(piece));
    }
}

// Calls `body(values, at)` for the vectors of a piece that this thread takes, with four accesses under way at a time.
template <typename S, int n, typename Body>
DIOPI_DEVICE inline void for_vectors_of_piece(int lane, int lanes, const S* from, int size, const Body& body) {
    constexpr int kAhead = 4;
    for (int first = lane * n; first < size; first += kAhead * lanes * n) {
        AlignedVector<S, n> vectors[kAhead];
        DIOPI_UNROLL
        for (int v = 0; v < kAhead; ++v) {
            if (first + v * lanes * n < size) {
                vectors[v] = load_vector<S, n>(from + first + v * lanes * n);
            }
        }
        DIOPI_UNROLL
        for (int v = 0; v < kAhead; ++v) {
            if (first + v * lanes * n < size) {
                Computed<S> values[n];
                unpack<S, n>(values, vectors[v]);
                body(values, first + v * lanes * n);
            }
        }
    }
}

// The same for pairs of two arrays.
template <typename S, int n, typename Body>
DIOPI_DEVICE inline void for_pairs_of_piece(int lane, int lanes, const S* one, const S* two, int size,
                                            const Body& body) {
    constexpr int kAhead = 4;
    for (int first = lane * n; first < size; first += kAhead * lanes * n) {
        AlignedVector<S, n> ones[kAhead];
        AlignedVector<S, n> twos[kAhead];
        DIOPI_UNROLL
        for (int v = 0; v < kAhead; ++v) {
            if (first + v * lanes * n < size) {
                ones[v] = load_vector<S, n>(one + first + v * lanes * n);
                twos[v] = load_vector<S, n>(two + first + v * lanes * n);
            }
        }
        DIOPI_UNROLL
        for (int v = 0; v < kAhead; ++v) {
            if (first + v * lanes * n < size) {
                Computed<S> a[n];
                Computed<S> b[n];
                unpack<S, n>(a, ones[v]);
                unpack<S, n>(b, twos[v]);
                body(a, b, first + v * lanes * n);
            }
        }
    }
}

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_NORM_SPANS_H_
