// Reducing rows of any layout and dtype: short rows by a thread, longer ones by groups.
#ifndef DIOPI_CUDA_REDUCE_GENERAL_H_
#define DIOPI_CUDA_REDUCE_GENERAL_H_

#include "diopi_cuda/reduction_layout.h"

namespace diopigen::cuda::detail {

template <typename Reducer, typename Finish>
void reduce_general(const RowLayout& layout, int64_t parts, typename Reducer::State* states, const Reducer& reducer,
                    const Finish& finish) {
    using Value = typename Reducer::Value;
    using State = typename Reducer::State;
    constexpr int64_t kShortRow = 32;
    const int threads = threads_for(layout.length / parts);
    const int64_t part_length = (layout.length + parts - 1) / parts;
    if (layout.length <= kShortRow) {
        for_each(layout.count, [=] DIOPI_KERNEL(int64_t row) {
            const char* begin = layout.start.at(layout.outer, row);
            auto local = started(reducer);
            for (int64_t i = 0; i < layout.length; ++i) {
                const int64_t offset = layout.along.at(layout.inside, i) - layout.along.data;
                local = reducer.add(local, load<Value>(begin + offset, layout.along.dtype), i);
            }
            finish(row, closed(reducer, local));
        });
        return;
    }
    for_groups(layout.count * parts, threads, 0, [=] DIOPI_KERNEL(Group & group, int64_t k) {
        const int64_t row = k / parts;
        const int64_t part = k % parts;
        const int64_t first = part * part_length;
        const int64_t end = first + part_length < layout.length ? first + part_length : layout.length;
        const char* begin = layout.start.at(layout.outer, row);
        auto local = started(reducer);
        for (int64_t i = first + group.thread(); i < end; i += group.size()) {
            const int64_t offset = layout.along.at(layout.inside, i) - layout.along.data;
            local = reducer.add(local, load<Value>(begin + offset, layout.along.dtype), i);
        }
        const State state =
            group.reduce(closed(reducer, local), [=](const State& a, const State& b) { return reducer.join(a, b); });
        if (group.thread() == 0) {
            if (states != nullptr) {
                states[part * layout.count + row] = state;
            } else {
                finish(row, state);
            }
        }
    });
}

}  // namespace diopigen::cuda::detail

#endif  // DIOPI_CUDA_REDUCE_GENERAL_H_
