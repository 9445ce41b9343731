// Folding contiguous rows: a few neighbouring threads to a short row, a group to a long one or to
// a part of it.
#ifndef DIOPI_CUDA_FOLD_ROWS_H_
#define DIOPI_CUDA_FOLD_ROWS_H_

#include "diopi_cuda/fold_layout.h"
#include "diopi_cuda/splitter.h"

namespace diopi::cuda::detail {

template <typename Fold, typename S, typename Finish>
struct FoldInRows {
    using State = typename Fold::State;
    static constexpr int kN = kPack<S> < 8 ? kPack<S> : 8;
    static constexpr int kAhead = 4;  // accesses under way at a time

    Fold fold;
    Finish finish;
    State* states = nullptr;  // of parts, for all rows; null where a row has one
    Dims kept;
    Operand start;
    Offsets runs;  // of a row
    bool is_vector;
    int64_t count;
    Splitter by_count;
    int64_t units;    // rows times parts
    uint32_t run;     // elements in a run
    Divider per_run;  // packs in it
    uint32_t packs;   // in a row
    uint32_t per_part;
    int64_t parts;
    int tile = 1;     // threads to a part of a row
    int threads = 1;  // to a group

    FoldInRows(const RowLayout& layout, const Fold& folded, const Finish& finished)
        : fold(folded),
          finish(finished),
          kept(layout.kept),
          start(layout.start),
          runs(layout.inside, layout.along, false),
          count(layout.count),
          by_count(layout.count),
          run(static_cast<uint32_t>(layout.run())) {
        const int64_t in_run = (layout.run() + kN - 1) / kN;
        const int64_t all = layout.run() == 0 ? 0 : layout.length / layout.run() * in_run;
        per_run = Divider(in_run);
        packs = static_cast<uint32_t>(all);
        is_vector = keeps_multiples<S, kN>(layout, true);
        const int64_t wanted = parts_of(layout.length);
        per_part = static_cast<uint32_t>((all + wanted - 1) / wanted);
        parts = per_part == 0 ? 1 : (all + per_part - 1) / per_part;
        units = count * parts;
        const int most = threads_given(kThreads);
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
        auto local = started(fold);
        if (is_there) {
            const uint32_t first = static_cast<uint32_t>(part) * per_part;
            const uint32_t end = packs - first < per_part ? packs : first + per_part;
            gather(local, start.at(kept, row), first + static_cast<uint32_t>(group.thread() & (tile - 1)), end);
        }
        const auto join = [this](const State& a, const State& b) { return fold.join(a, b); };
        State state = closed(fold, local);
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
    DIOPI_DEVICE void gather(typename Fold::Local& local, const char* row, uint32_t pack, uint32_t end) const {
        const auto step = static_cast<uint32_t>(tile);
        DIOPI_NO_UNROLL
        for (; pack < end; pack += kAhead * step) {
            Pack<S, kN> loaded[kAhead];
            uint32_t at[kAhead];
            int used[kAhead];
            DIOPI_UNROLL
            for (int v = 0; v < kAhead; ++v) {
                uint32_t column = pack + static_cast<uint32_t>(v) * step;
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
                    add_pack<Fold, S, kN>(fold, local, loaded[v], used[v], at[v]);
                }
            }
        }
    }
};

}  // namespace diopi::cuda::detail

#endif  // DIOPI_CUDA_FOLD_ROWS_H_
