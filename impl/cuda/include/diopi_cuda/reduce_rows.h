// Reducing contiguous rows: a few neighbouring threads to a short row, a group to a long one or to
// a part of it.
#ifndef DIOPI_CUDA_REDUCE_ROWS_H_
#define DIOPI_CUDA_REDUCE_ROWS_H_

#include "diopi_cuda/fast_divmod.h"
#include "diopi_cuda/reduction_layout.h"

namespace diopigen::cuda::detail {

template <typename Reducer, typename S, typename Finish>
struct ReduceInRows {
    using State = typename Reducer::State;
    static constexpr int kN = kVectorSize<S> < 8 ? kVectorSize<S> : 8;
    static constexpr int kAhead = 4;  // accesses under way at a time

    Reducer reducer;
    Finish finish;
    State* states = nullptr;  // of parts, for all rows; null where a row has one
    Dims outer;
    Operand start;
    Offsets runs;  // of a row
    bool is_vector;
    int64_t count;
    FastDivmod by_count;
    int64_t units;     // rows times parts
    uint32_t run;      // elements in a run
    Divider per_run;   // vectors in it
    uint32_t vectors;  // in a row
    uint32_t per_part;
    int64_t parts;
    int tile = 1;     // threads to a part of a row
    int threads = 1;  // to a group

    ReduceInRows(const RowLayout& layout, const Reducer& the_reducer, const Finish& finished)
        : reducer(the_reducer),
          finish(finished),
          outer(layout.outer),
          start(layout.start),
          runs(layout.inside, layout.along, false),
          count(layout.count),
          by_count(layout.count),
          run(static_cast<uint32_t>(layout.run())) {
        const int64_t in_run = (layout.run() + kN - 1) / kN;
        const int64_t all = layout.run() == 0 ? 0 : layout.length / layout.run() * in_run;
        per_run = Divider(in_run);
        vectors = static_cast<uint32_t>(all);
        is_vector = keeps_multiples<S, kN>(layout, true);
        const int64_t target_parts = parts_of(layout.length);
        per_part = static_cast<uint32_t>((all + target_parts - 1) / target_parts);
        parts = per_part == 0 ? 1 : (all + per_part - 1) / per_part;
        units = count * parts;
        const int most = available_threads(kThreads);
        while (tile < most && static_cast<int64_t>(tile) * kAhead < per_part) {
            tile *= 2;
        }
        threads = tile <= kLanes ? most : tile;
    }
    int64_t groups() const { return (units + threads / tile - 1) / (threads / tile); }

    DIOPI_DEVICE void operator()(Group& group, int64_t k) const {
        const int64_t unit = k * (group.size() / tile) + group.thread() / tile;
        int64_t row = unit;
        const int64_t part = parts == 1 ? 0 : by_count.split(row);
        const bool is_there = unit < units;
        auto local = started(reducer);
        if (is_there) {
            const uint32_t first = static_cast<uint32_t>(part) * per_part;
            const uint32_t end = vectors - first < per_part ? vectors : first + per_part;
            gather(local, start.at(outer, row), first + static_cast<uint32_t>(group.thread() & (tile - 1)), end);
        }
        const auto join = [this](const State& a, const State& b) { return reducer.join(a, b); };
        State state = closed(reducer, local);
        state = tile <= kLanes ? group.reduce_within(tile, state, join) : group.reduce(state, join);
        if (is_there && (group.thread() & (tile - 1)) == 0) {
            if (states != nullptr) {
                states[unit] = state;
            } else {
                finish(row, state);
            }
        }
    }

  private:
    DIOPI_DEVICE void gather(typename Reducer::Local& local, const char* row, uint32_t vector, uint32_t end) const {
        const auto stride = static_cast<uint32_t>(tile);
        DIOPI_NO_UNROLL
        for (; vector < end; vector += kAhead * stride) {
            AlignedVector<S, kN> loaded[kAhead];
            uint32_t at[kAhead];
            int used[kAhead];
            DIOPI_UNROLL
            for (int v = 0; v < kAhead; ++v) {
                uint32_t column = vector + static_cast<uint32_t>(v) * stride;
                used[v] = 0;
                if (column >= end) {
                    continue;
                }
                const char* begin = row;
                at[v] = 0;
                if (runs.dims.rank > 0) {
                    const uint32_t number = per_run.split(column);
                    begin += runs.at(number);
                    at[v] = number * run;
                }
                const uint32_t left = run - column * kN;
                used[v] = left < kN ? static_cast<int>(left) : kN;
                at[v] += column * kN;
                loaded[v] = load_some<S, kN>(reinterpret_cast<const S*>(begin) + column * kN, used[v], is_vector);
            }
            DIOPI_UNROLL
            for (int v = 0; v < kAhead; ++v) {
                if (used[v] > 0) {
                    add_vector<Reducer, S, kN>(reducer, local, loaded[v], used[v], at[v]);
                }
            }
        }
    }
};

}  // namespace diopigen::cuda::detail

#endif  // DIOPI_CUDA_REDUCE_ROWS_H_
