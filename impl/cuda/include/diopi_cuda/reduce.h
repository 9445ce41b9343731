// Reducing rows of elements to one state each, and writing what follows from it.
//
//   rows      the elements of a row are contiguous, at least in runs: neighbouring threads split a row (reduce_rows.h)
//   columns   neighbouring rows are contiguous: a thread takes several of them (reduce_columns.h)
//   general   any layout and dtype, an element at a time (reduce_general.h)
//
// Long rows are reduced in parts, whose states are joined afterwards. The parts, and the order of all sums, follow from
// shape and layout alone, so results are the same on every device.
//
// A reducer derives from Reducer<Value, State, Local>: `Value` is what elements are read as, a thread gathers in a
// `Local`, and states of threads are joined. It has
//   State identity() const
//   Local start() const                                 only where Local is another type than State
//   Local add(Local local, Value x, int64_t i) const    element i of the row; each thread sees rising ones
//   State close(Local local) const                      only where Local is another type than State
//   State join(State a, State b) const                  a has elements that come before those of b, but for columns
//   kTyped                                              the dtypes whose tensors in order are read by vectors
// and a finish is called with `finish(row, state)` for each row.
#ifndef DIOPI_CUDA_REDUCE_H_
#define DIOPI_CUDA_REDUCE_H_

#include "diopi_cuda/reduce_columns.h"
#include "diopi_cuda/reduce_general.h"
#include "diopi_cuda/reduce_rows.h"

namespace diopigen::cuda {

template <typename V, typename S, typename L = S>
struct Reducer {
    using Value = V;
    using State = S;
    using Local = L;
    // Whether neighbours are added in the type that they are computed in, before a wider one gets their sum.
    static constexpr bool kAddsNeighbours = false;
};

// Writes what `reducer` finishes of a state to `out`, whose elements are those of the rows in order.
template <typename Result, typename Reducer>
struct StoreFinished {
    Reducer reducer;
    Dims dims;
    Operand out;

    StoreFinished(const Reducer& the_reducer, const Tensor& tensor) : reducer(the_reducer) {
        require_on_device(tensor);
        const Tensor* tensors[] = {&tensor};
        dims = walk(tensor, tensors, &out, 1);
    }
    DIOPI_DEVICE void operator()(int64_t row, const typename Reducer::State& state) const {
        store<Result>(out.at(dims, row), out.dtype, reducer.finish(state));
    }
};

namespace detail {

// Joins the states of the parts of each row: `states` has those of all rows for each part. Few rows have a group each,
// of many rows a group takes neighbours.
template <typename Reducer, typename Finish>
void join_parts(const typename Reducer::State* states, int64_t count, int64_t parts, const Reducer& reducer,
                const Finish& finish) {
    using State = typename Reducer::State;
    const auto join = [=] DIOPI_KERNEL(Group & group, int64_t k) {
        const bool is_shared = count >= kLanes;  // the group, by several rows
        const int lanes = is_shared ? kLanes : 1;
        const int levels = group.size() / lanes;
        const int level = group.thread() / lanes;
        const int64_t row = k * lanes + group.thread() % lanes;
        State state = reducer.identity();
        if (row < count) {
            DIOPI_AHEAD
            for (int64_t part = level; part < parts; part += levels) {
                state = reducer.join(state, states[part * count + row]);
            }
        }
        if (is_shared) {
            State* own = group.shared<State>() + group.thread() % lanes;
            own[level * lanes] = state;
            group.sync();
            for (int other = 1; other < levels && level == 0; ++other) {
                state = reducer.join(state, own[other * lanes]);
            }
        } else {
            state = group.reduce(state, [=](const State& a, const State& b) { return reducer.join(a, b); });
        }
        if (level == 0 && row < count) {
            finish(row, state);
        }
    };
    const int64_t groups = count >= kLanes ? (count + kLanes - 1) / kLanes : count;
    for_groups(groups, kThreads, kThreads * static_cast<int64_t>(sizeof(State)), join);
}

}  // namespace detail

// Reduces the rows of `input`.
template <typename Reducer, typename Finish>
void reduce_rows_into(const Tensor& input, const Rows& rows, const Reducer& reducer, const Finish& finish) {
    if (rows.count == 0) {
        return;
    }
    using State = typename Reducer::State;
    const RowLayout layout(input, rows);
    Buffer memory;
    // The states of `parts` for each row; null where there is one, which is finished at once.
    const auto states_of = [&](int64_t parts) {
        if (parts == 1) {
            return static_cast<State*>(nullptr);
        }
        memory.allocate(layout.count * parts * static_cast<int64_t>(sizeof(State)));
        return static_cast<State*>(memory.data());
    };
    int64_t parts = 1;
    bool is_done = false;
    dispatch<Reducer::kTyped>(layout.along.dtype, [&](auto sample) {
        using S = decltype(sample);
        if (layout.has_runs()) {
            detail::ReduceInRows<Reducer, S, Finish> kernel(layout, reducer, finish);
            parts = kernel.parts;
            kernel.states = states_of(parts);
            for_groups(kernel.groups(), kernel.threads, 0, kernel);
            is_done = true;
        } else if (layout.has_neighbours()) {
            detail::ReduceInColumns<Reducer, S, Finish> kernel(layout, reducer, finish);
            parts = kernel.parts;
            kernel.states = states_of(parts);
            for_groups(kernel.groups(), kernel.threads, kernel.shared_bytes(), kernel);
            is_done = true;
        }
    });
    if (!is_done) {
        parts = detail::parts_of(layout.length);
        detail::reduce_general(layout, parts, states_of(parts), reducer, finish);
    }
    if (parts > 1) {
        detail::join_parts(static_cast<const State*>(memory.data()), layout.count, parts, reducer, finish);
    }
}

// Reduces the rows of `input` and writes what `reducer` finishes, as `Result`, to `out`.
template <typename Result, typename Reducer>
void reduce_rows(const Tensor& out, const Tensor& input, const Rows& rows, const Reducer& reducer) {
    reduce_rows_into(input, rows, reducer, StoreFinished<Result, Reducer>(reducer, out));
}

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_REDUCE_H_
