// Contiguous rows of elements: short ones each by a few neighbouring threads, longer ones by a group, in
// registers between one pass and the next; rows that are too long for that in parts.
#ifndef DIOPI_CUDA_ROWS_H_
#define DIOPI_CUDA_ROWS_H_

#include "diopi_core/math.h"
#include "diopi_cuda/aligned_vector.h"

namespace diopigen::cuda {

// The larger of two, in one instruction. A NaN may be lost: the sum of the exponentials has it then.
DIOPI_DEVICE inline float larger(float a, float b) { return numeric::fmax(a, b); }
DIOPI_DEVICE inline double larger(double a, double b) { return numeric::fmax(a, b); }

// The threads that hold a row. Those of all tiles of a group reduce together.
class ThreadTile {
  public:
    DIOPI_DEVICE ThreadTile(const Group& group, int size) : group_(group), size_(size) {}

    DIOPI_DEVICE int size() const { return size_; }
    DIOPI_DEVICE int thread() const { return group_.thread() & (size_ - 1); }

    template <typename T, typename Join>
    DIOPI_DEVICE T reduce(T value, const Join& join) const {
        return size_ <= kLanes ? group_.reduce_within(size_, value, join) : group_.reduce(value, join);
    }
    template <typename T>
    DIOPI_DEVICE T sum(T value) const {
        return reduce(value, [](const T& a, const T& b) { return a + b; });
    }

  private:
    const Group& group_;
    int size_;
};

// How rows are split among threads that hold up to `held` vectors of `n` elements each.
struct RowTiles {
    int64_t rows;
    int64_t length;
    int tile = 1;  // threads to a row: 1 << bits
    int bits = 0;
    int threads = 1;   // to a group
    bool fits = true;  // a group can hold a row

    RowTiles(int64_t count, int64_t size, int n, int held) : rows(count), length(size) {
        const int64_t vectors = (length + n - 1) / n;
        const int most = available_threads(kThreads);
        // A vector or two to each thread, until a row takes a warp; then more vectors before more warps.
        while (tile < kLanes && tile < most && tile * 2 < vectors) {
            tile = 1 << ++bits;
        }
        while (tile < most && static_cast<int64_t>(tile) * held < vectors) {
            tile = 1 << ++bits;
        }
        fits = static_cast<int64_t>(tile) * held >= vectors;
        threads = tile <= kLanes ? available_threads(kThreads / 2) : tile;
    }
    int64_t groups() const { return (rows + threads / tile - 1) / (threads / tile); }
    // The row of this thread in group k; rows that there are not have no elements.
    DIOPI_DEVICE int64_t row(const Group& group, int64_t k) const {
        return k * (group.size() >> bits) + (group.thread() >> bits);
    }
    DIOPI_DEVICE int length_of(int64_t row) const { return row < rows ? static_cast<int>(length) : 0; }
};

// What a thread holds of a row: `held` vectors of `n` elements, computed as Computed<S>. Where the row has no elements
// left, `empty` stands. `length` 0 reads nothing.
template <typename S, int n, int held>
DIOPI_DEVICE inline void load_row(Computed<S>* values, const S* row, int length, const ThreadTile& tile,
                                  Computed<S> empty) {
    AlignedVector<S, n> vectors[held];
    DIOPI_UNROLL
    for (int v = 0; v < held; ++v) {
        const int at = (v * tile.size() + tile.thread()) * n;
        if (at < length) {
            vectors[v] = load_vector<S, n>(row + at);
        }
    }
    DIOPI_UNROLL
    for (int v = 0; v < held; ++v) {
        const int at = (v * tile.size() + tile.thread()) * n;
        DIOPI_UNROLL
        for (int i = 0; i < n; ++i) {
            values[v * n + i] = at < length ? static_cast<Computed<S>>(vectors[v].elements[i]) : empty;
        }
    }
}

template <typename S, int n, int held>
DIOPI_DEVICE inline void store_row(S* row, const Computed<S>* values, int length, const ThreadTile& tile) {
    DIOPI_UNROLL
    for (int v = 0; v < held; ++v) {
        const int at = (v * tile.size() + tile.thread()) * n;
        if (at < length) {
            store_vector<S, n>(row + at, values + v * n);
        }
    }
}

// The sum of values in registers: `n` at a time, then in double.
template <int n, int held, typename T>
DIOPI_DEVICE inline double sum_of(const T* values) {
    double sum = 0;
    DIOPI_UNROLL
    for (int v = 0; v < held; ++v) {
        T part = values[v * n];
        DIOPI_UNROLL
        for (int i = 1; i < n; ++i) {
            part += values[v * n + i];
        }
        sum += static_cast<double>(part);
    }
    return sum;
}

// Rows cut into parts of equal length, each read by a group.
struct RowParts {
    static constexpr int64_t kPart = 16384;

    int64_t rows;
    int64_t length;
    int64_t parts;

    RowParts(int64_t count, int64_t size) : rows(count), length(size), parts((size + kPart - 1) / kPart) {}
    int64_t count() const { return rows * parts; }
    // There are fewer than 2^31 groups: division of 32 bits is the quick one.
    DIOPI_DEVICE int64_t row(int64_t k) const { return static_cast<uint32_t>(k) / static_cast<uint32_t>(parts); }
    DIOPI_DEVICE int64_t begin(int64_t k) const {
        return static_cast<int64_t>(static_cast<uint32_t>(k) % static_cast<uint32_t>(parts)) * kPart;
    }
    // Elements of part k.
    DIOPI_DEVICE int size(int64_t k) const {
        const int64_t left = length - begin(k);
        return static_cast<int>(left < kPart ? left : kPart);
    }
};

// Calls `body(values, at)` for the vectors of a part of `size` elements, with four accesses under way at a time.
template <typename S, int n, typename Body>
DIOPI_DEVICE inline void for_row_vectors(const Group& group, const S* from, int size, const Body& body) {
    constexpr int kAhead = 4;
    const int stride = group.size() * n;
    for (int first = group.thread() * n; first < size; first += kAhead * stride) {
        AlignedVector<S, n> vectors[kAhead];
        DIOPI_UNROLL
        for (int v = 0; v < kAhead; ++v) {
            if (first + v * stride < size) {
                vectors[v] = load_vector<S, n>(from + first + v * stride);
            }
        }
        DIOPI_UNROLL
        for (int v = 0; v < kAhead; ++v) {
            if (first + v * stride < size) {
                Computed<S> values[n];
                unpack<S, n>(values, vectors[v]);
                body(values, first + v * stride);
            }
        }
    }
}

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_ROWS_H_
