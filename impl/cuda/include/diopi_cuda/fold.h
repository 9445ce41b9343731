// Folding rows of elements to one state each. Short rows are folded by one thread, longer ones by a group, very long
// ones by several, in parts that depend on the shape alone: so results are the same on every device.
//
// A fold has types `Value`, what elements are read as, and `State`, and
//   State identity() const
//   State add(State state, Value x, int64_t i) const    element i of the row
//   State join(State a, State b) const                  in any order
//   Result finish(State state) const
#ifndef DIOPI_CUDA_FOLD_H_
#define DIOPI_CUDA_FOLD_H_

#include "diopi_cpu/dense.h"
#include "diopi_cpu/reduction.h"
#include "diopi_cuda/operand.h"

namespace diopi::cuda {

// Rows of a tensor: element i of row r has the position r * length + i.
struct RowSource {
    Dims dims;
    Operand operand;
    int64_t count;
    int64_t length;

    template <typename T>
    DIOPI_DEVICE T at(int64_t row, int64_t i) const {
        return load<T>(operand.at(dims, row * length + i), operand.dtype);
    }
};

inline RowSource row_source(const Tensor& rows_last, int64_t count, int64_t length) {
    require_on_device(rows_last);
    RowSource source;
    const Tensor* tensors[] = {&rows_last};
    source.dims = walk(rows_last, tensors, &source.operand, 1);
    source.count = count;
    source.length = length;
    return source;
}

inline RowSource row_source(const Tensor& input, const Rows& rows) {
    const View view = permuted(input, rows.order());
    return row_source(view.tensor(), rows.count, rows.length);
}

namespace detail {

constexpr int64_t kShortRow = 32;
constexpr int64_t kRowPart = 65536;

template <typename Fold>
void fold_short(const RowSource& source, const Fold& fold, typename Fold::State* states) {
    using Value = typename Fold::Value;
    for_each(source.count, [=] DIOPI_KERNEL(int64_t row) {
        auto state = fold.identity();
        for (int64_t i = 0; i < source.length; ++i) {
            state = fold.add(state, source.template at<Value>(row, i), i);
        }
        states[row] = state;
    });
}

template <typename Fold>
void fold_parts(const RowSource& source, int64_t parts, const Fold& fold, typename Fold::State* states) {
    using Value = typename Fold::Value;
    using State = typename Fold::State;
    const int threads = threads_for(source.length / parts);
    for_groups(source.count * parts, threads, 0, [=] DIOPI_KERNEL(Group & group, int64_t k) {
        const int64_t row = k / parts;
        const int64_t first = k % parts * kRowPart;
        const int64_t end = k % parts == parts - 1 ? source.length : first + kRowPart;
        State state = fold.identity();
        for (int64_t i = first + group.thread(); i < end; i += group.size()) {
            state = fold.add(state, source.template at<Value>(row, i), i);
        }
        state = group.reduce(state, [=](const State& a, const State& b) { return fold.join(a, b); });
        if (group.thread() == 0) {
            states[k] = state;
        }
    });
}

template <typename Result, typename Fold>
void finish_rows(const Dims& dims, const Operand& out, int64_t count, int64_t parts, const Fold& fold,
                 const typename Fold::State* states) {
    for_each(count, [=] DIOPI_KERNEL(int64_t row) {
        auto state = states[row * parts];
        for (int64_t part = 1; part < parts; ++part) {
            state = fold.join(state, states[row * parts + part]);
        }
        store<Result>(out.at(dims, row), out.dtype, fold.finish(state));
    });
}

}  // namespace detail

// The states of all rows, `parts` to each.
template <typename State>
struct FoldedRows {
    Buffer memory;
    int64_t count = 0;
    int64_t parts = 1;

    State* data() const { return static_cast<State*>(memory.data()); }
};

template <typename Fold>
FoldedRows<typename Fold::State> fold_rows(const RowSource& source, const Fold& fold) {
    FoldedRows<typename Fold::State> folded;
    folded.count = source.count;
    folded.parts = std::max<int64_t>(1, source.length / detail::kRowPart);
    folded.memory.allocate(folded.count * folded.parts * static_cast<int64_t>(sizeof(typename Fold::State)));
    if (source.length <= detail::kShortRow) {
        detail::fold_short(source, fold, folded.data());
    } else {
        detail::fold_parts(source, folded.parts, fold, folded.data());
    }
    return folded;
}

// Writes what `fold` finishes of the states to `out`, whose elements are those of the rows in order.
template <typename Result, typename Fold>
void finish_rows(const Tensor& out, const FoldedRows<typename Fold::State>& folded, const Fold& fold) {
    require_on_device(out);
    Operand operand;
    const Tensor* tensors[] = {&out};
    const Dims dims = walk(out, tensors, &operand, 1);
    detail::finish_rows<Result>(dims, operand, folded.count, folded.parts, fold, folded.data());
}

}  // namespace diopi::cuda

#endif  // DIOPI_CUDA_FOLD_H_
