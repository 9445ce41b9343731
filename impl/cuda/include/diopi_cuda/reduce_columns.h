// Reducing rows that begin at consecutive addresses, as along an outer dimension: a thread takes neighbouring rows,
// which are columns in memory; the threads of a group split columns and elements, and columns are cut into parts.
#ifndef DIOPI_CUDA_REDUCE_COLUMNS_H_
#define DIOPI_CUDA_REDUCE_COLUMNS_H_

#include "diopi_cuda/reduction_layout.h"

namespace diopigen::cuda::detail {

template <typename Reducer, typename S, typename Finish>
struct ReduceInColumns {
    using State = typename Reducer::State;
    using Local = typename Reducer::Local;
    // States of a thread: what they take of shared memory is bounded.
    static constexpr int kMost = 128 / static_cast<int>(sizeof(State) > sizeof(Local) ? sizeof(State) : sizeof(Local));
    static constexpr int kUpTo = kVectorSize<S> < 8 ? kVectorSize<S> : 8;
    static constexpr int kN = kUpTo < kMost ? kUpTo : kMost;
    static constexpr int kAhead = 4;

    Reducer reducer;
    Finish finish;
    State* states = nullptr;  // of parts, for all rows; null where a row has one
    Offsets around;           // of the rows: blocks of neighbours
    const char* data;
    Offsets along;  // of the elements of a row
    bool is_vector;
    int64_t count;
    uint32_t columns;      // rows that begin at consecutive addresses
    uint32_t outer_count;  // of such blocks of neighbours
    uint32_t blocks;       // of them
    uint32_t length;
    uint32_t per_part;
    int64_t parts;
    int width = 1;  // threads along neighbouring rows
    int threads;

    ReduceInColumns(const RowLayout& layout, const Reducer& the_reducer, const Finish& finished)
        : reducer(the_reducer),
          finish(finished),
          around(layout.outer, layout.start, false),
          data(layout.start.data),
          along(layout.inside, layout.along, true),
          count(layout.count),
          columns(static_cast<uint32_t>(layout.columns())),
          outer_count(static_cast<uint32_t>(layout.count / std::max<int64_t>(1, layout.columns()))),
          length(static_cast<uint32_t>(layout.length)) {
        constexpr int kCoalesced = 32;     // threads that read one stretch of memory
        constexpr int64_t kGroups = 2048;  // enough for a large device
        constexpr int64_t kLeastRows = 64;
        is_vector = keeps_multiples<S, kN>(layout, false);
        const int64_t vectors = (layout.columns() + kN - 1) / kN;
        const int most = available_threads(kThreads);
        while (width < most && width < vectors && (width < kCoalesced || most / width * kAhead > layout.length)) {
            width *= 2;
        }
        blocks = static_cast<uint32_t>((vectors + width - 1) / width);
        const int64_t groups_across = static_cast<int64_t>(blocks) * outer_count;
        const int64_t target_parts =
            std::max<int64_t>(1, std::min(kGroups / groups_across, layout.length / kLeastRows));
        per_part = static_cast<uint32_t>((layout.length + target_parts - 1) / target_parts);
        parts = per_part == 0 ? 1 : (length + per_part - 1) / per_part;
        threads = std::max(width, kLanes);
        while (threads < most && threads / width * kAhead < static_cast<int64_t>(per_part)) {
            threads *= 2;
        }
    }
    int64_t groups() const { return static_cast<int64_t>(blocks) * outer_count * parts; }
    int64_t shared_bytes() const { return threads * kN * static_cast<int64_t>(sizeof(State)); }

    DIOPI_DEVICE void operator()(Group& group, int64_t k) const {
        const auto number = static_cast<uint32_t>(k);
        const uint32_t block = number % blocks;
        const uint32_t outer = number / blocks % outer_count;
        const uint32_t part = number / blocks / outer_count;
        const int lane = group.thread() & (width - 1);
        const int level = group.thread() / width;
        const int levels = group.size() / width;
        const int64_t column = (static_cast<int64_t>(block) * width + lane) * kN;
        const int64_t left = columns - column;
        const int used = left < 0 ? 0 : left < kN ? static_cast<int>(left) : kN;
        Local locals[kN];
        DIOPI_UNROLL
        for (int i = 0; i < kN; ++i) {
            locals[i] = started(reducer);
        }
        if (used > 0) {
            const uint32_t first = part * per_part;
            const uint32_t end = length - first < per_part ? length : first + per_part;
            const char* begin = data + around.at(outer) + column * static_cast<int64_t>(sizeof(S));
            gather(locals, begin, used, first + static_cast<uint32_t>(level), end, static_cast<uint32_t>(levels));
        }
        // The states of a level are contiguous, so that neighbouring threads are in neighbouring banks.
        State* shared = group.shared<State>();
        DIOPI_UNROLL
        for (int i = 0; i < kN; ++i) {
            shared[(level * kN + i) * width + lane] = closed(reducer, locals[i]);
        }
        group.sync();
        for (int half = levels / 2; half > 0; half /= 2) {
            for (int i = 0; i < kN && level < half; ++i) {
                State& own = shared[(level * kN + i) * width + lane];
                own = reducer.join(own, shared[((level + half) * kN + i) * width + lane]);
            }
            group.sync();
        }
        for (int i = 0; i < used && level == 0; ++i) {
            const int64_t row = static_cast<int64_t>(outer) * columns + column + i;
            const State state = shared[i * width + lane];
            if (states != nullptr) {
                states[part * count + row] = state;
            } else {
                finish(row, state);
            }
        }
    }

  private:
    DIOPI_DEVICE void gather(Local* locals, const char* begin, int used, uint32_t row, uint32_t end,
                             uint32_t stride) const {
        DIOPI_NO_UNROLL
        for (; row < end; row += kAhead * stride) {
            AlignedVector<S, kN> loaded[kAhead];
            DIOPI_UNROLL
            for (int v = 0; v < kAhead; ++v) {
                const uint32_t at = row + static_cast<uint32_t>(v) * stride;
                if (at < end) {
                    const auto* from = reinterpret_cast<const S*>(begin + along.at(at));
                    loaded[v] = load_some<S, kN>(from, used, is_vector);
                }
            }
            if constexpr (Reducer::kAddsNeighbours) {
                if (row + (kAhead - 1) * stride < end) {
                    DIOPI_UNROLL
                    for (int i = 0; i < kN; ++i) {
                        auto sum = cast<Near<S>>(loaded[0].elements[i]);
                        DIOPI_UNROLL
                        for (int v = 1; v < kAhead; ++v) {
                            sum = sum + cast<Near<S>>(loaded[v].elements[i]);
                        }
                        locals[i] = reducer.add(locals[i], cast<typename Reducer::Value>(sum), row);
                    }
                    continue;
                }
            }
            DIOPI_UNROLL
            for (int v = 0; v < kAhead; ++v) {
                const uint32_t at = row + static_cast<uint32_t>(v) * stride;
                if (at < end) {
                    DIOPI_UNROLL
                    for (int i = 0; i < kN; ++i) {
                        locals[i] = reducer.add(locals[i], cast<typename Reducer::Value>(loaded[v].elements[i]), at);
                    }
                }
            }
        }
    }
};

}  // namespace diopigen::cuda::detail

#endif  // DIOPI_CUDA_REDUCE_COLUMNS_H_
