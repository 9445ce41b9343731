// How the rows of a reduction are laid out in memory.
#ifndef DIOPI_CUDA_REDUCTION_LAYOUT_H_
#define DIOPI_CUDA_REDUCTION_LAYOUT_H_

#include "diopi_core/dense.h"
#include "diopi_core/reduction.h"
#include "diopi_cuda/operand.h"

namespace diopigen::cuda {

struct RowLayout {
    int64_t count;
    int64_t length;
    Dims outer;     // of the rows
    Operand start;  // where a row begins
    Dims inside;    // of a row
    Operand along;  // where its elements lie, counted from its begin

    RowLayout(const Tensor& input, const Rows& rows) : count(rows.count), length(rows.length) {
        require_on_device(input);
        outer = part(input, rows.outer, start);
        inside = part(input, rows.reduced, along);
        along.data = nullptr;
    }

    int64_t run() const { return inside.rank > 0 ? inside.sizes[inside.rank - 1] : length; }
    // Elements of a row are contiguous, in runs that are worth it.
    bool has_runs() const {
        const bool is_dense = inside.rank == 0 || along.strides[inside.rank - 1] == along.element;
        return is_dense && length <= kMaxShort && (run() >= 8 || !has_neighbours());
    }
    int64_t columns() const { return outer.rank > 0 ? outer.sizes[outer.rank - 1] : 0; }
    // Consecutive rows begin at consecutive addresses, and are more than a thread's work together.
    bool has_neighbours() const {
        const bool is_dense = outer.rank > 0 && start.strides[outer.rank - 1] == start.element;
        return is_dense && count <= kMaxShort && length <= kMaxShort && columns() * length >= 128;
    }

  private:
    static Dims part(const Tensor& input, const std::vector<int64_t>& dims, Operand& operand) {
        const View view = permuted(input, dims);
        const Tensor* tensors[] = {&view.tensor()};
        return walk(view.tensor(), tensors, &operand, 1);
    }
};

namespace detail {

// Parts of the rows that are reduced by groups: so many that a large device is busy to the end, each with work for
// all threads of a group.
constexpr int64_t kLeastPart = 8192;
constexpr int64_t kMostParts = 4096;

inline int64_t parts_of(int64_t length) { return std::max<int64_t>(1, std::min(length / kLeastPart, kMostParts)); }

// Where an operand is in some dimensions, or in all but the innermost one.
struct Offsets {
    Dims dims;
    int64_t strides[kMaxDims];

    Offsets(const Dims& all, const Operand& operand, bool has_innermost) : dims(all) {
        dims.rank -= has_innermost || all.rank == 0 ? 0 : 1;
        for (int d = 0; d < dims.rank; ++d) {
            strides[d] = operand.strides[d];
        }
    }
    // In bytes, for positions up to kMaxShort.
    DIOPI_DEVICE int64_t at(uint32_t position) const {
        int64_t offset = 0;
        DIOPI_NO_UNROLL
        for (int d = dims.rank - 1; d > 0; --d) {
            const uint32_t outer = dims.dividers[d].split(position);
            offset += static_cast<int64_t>(position) * strides[d];
            position = outer;
        }
        return dims.rank > 0 ? offset + static_cast<int64_t>(position) * strides[0] : 0;
    }
};

// Whether what is `n` elements of S from the next, in any dimension but the innermost, begins where such vectors do.
template <typename S, int n>
bool keeps_multiples(const RowLayout& layout, bool is_inside) {
    auto addresses = reinterpret_cast<uint64_t>(layout.start.data);
    for (int d = 0; d < layout.outer.rank - (is_inside ? 0 : 1); ++d) {
        addresses |= static_cast<uint64_t>(layout.start.strides[d]);
    }
    for (int d = 0; d < layout.inside.rank - (is_inside ? 1 : 0); ++d) {
        addresses |= static_cast<uint64_t>(layout.along.strides[d]);
    }
    return addresses % sizeof(AlignedVector<S, n>) == 0;
}

// Up to `n` neighbours from `from` on: by one access where they are as many and are laid out so, else one by one.
template <typename S, int n>
DIOPI_DEVICE inline AlignedVector<S, n> load_some(const S* from, int used, bool is_vector) {
    AlignedVector<S, n> vector{};
    if (is_vector && used >= n) {
        return load_vector<S, n>(from);
    }
    DIOPI_UNROLL
    for (int i = 0; i < n; ++i) {
        if (i < used) {
            vector.elements[i] = from[i];
        }
    }
    return vector;
}

// What neighbours are added up in before a wider type gets the sum.
template <typename S>
using Near = std::conditional_t<is_half(dtype_of<S>), float, S>;

// Adds the first `used` elements of a vector, which begin with element `i` of the row.
template <typename Reducer, typename S, int n>
DIOPI_DEVICE inline void add_vector(const Reducer& reducer, typename Reducer::Local& local,
                                    const AlignedVector<S, n>& vector, int used, int64_t i) {
    using Value = typename Reducer::Value;
    if constexpr (Reducer::kAddsNeighbours && n > 1) {
        if (used >= n) {
            Near<S> sums[n];
            DIOPI_UNROLL
            for (int k = 0; k < n; ++k) {
                sums[k] = cast<Near<S>>(vector.elements[k]);
            }
            DIOPI_UNROLL
            for (int half = n / 2; half > 0; half /= 2) {
                DIOPI_UNROLL
                for (int k = 0; k < half; ++k) {
                    sums[k] = sums[k] + sums[k + half];
                }
            }
            local = reducer.add(local, cast<Value>(sums[0]), i);
            return;
        }
    }
    DIOPI_UNROLL
    for (int k = 0; k < n; ++k) {
        if (k < used) {
            local = reducer.add(local, cast<Value>(vector.elements[k]), i + k);
        }
    }
}

template <typename Reducer>
DIOPI_DEVICE inline typename Reducer::Local started(const Reducer& reducer) {
    if constexpr (std::is_same_v<typename Reducer::Local, typename Reducer::State>) {
        return reducer.identity();
    } else {
        return reducer.start();
    }
}

template <typename Reducer>
DIOPI_DEVICE inline typename Reducer::State closed(const Reducer& reducer, const typename Reducer::Local& local) {
    if constexpr (std::is_same_v<typename Reducer::Local, typename Reducer::State>) {
        return local;
    } else {
        return reducer.close(local);
    }
}

}  // namespace detail

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_REDUCTION_LAYOUT_H_
