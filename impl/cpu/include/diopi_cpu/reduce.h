// Reducing the elements of each result of a reduction to one state, directly in the memory of the tensor. The work is
// cut into parts that depend on the shape alone, so that no result depends on the number of threads.
//
// A reducer has a type `State` and
//   State identity() const
//   State join(State a, State b) const                   the elements of `b` come after those of `a`, unless the
//   reducer
//                                                        does not ask for positions
//   void rows(State* out, int64_t results, int64_t stride, const S* data, int64_t count, int64_t first) const
//       joins `count` neighbouring elements to each state; those of result r begin at data + r * stride
//   void columns(State* out, int64_t width, const S* data, int64_t stride, int64_t count, int64_t first) const
//       joins `count` elements, `stride` apart, to each of `width` states; those of result r begin at data + r
// where `first` is the position of the first element within its result, and S the dtype of the tensor.
#ifndef DIOPI_CPU_REDUCE_H_
#define DIOPI_CPU_REDUCE_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "diopi_core/cast.h"
#include "diopi_core/clones.h"
#include "diopi_cpu/reduction_layout.h"

namespace diopigen::cpu {

using namespace core;

// The type that elements are computed with: float for the halves.
template <typename S>
using Computed = std::conditional_t<is_half(dtype_of<S>), float, S>;

namespace detail {

// Elements of a part that is reduced in one go.
constexpr int64_t kReduceChunk = 32768;
// Columns that are reduced together.
constexpr int64_t kReduceWidth = 1024;
// With this many parts no result is split further.
constexpr int64_t kReduceParts = 64;

// So many running values that their additions do not wait for each other, and that the compiler keeps them in vectors.
template <typename State>
constexpr int kReduceLanes = sizeof(State) >= 8 ? 32 : 64;

template <typename Op, typename State, typename S>
DIOPI_CPU_CLONES void reduce_rows(const Op op, State* out, int64_t results, int64_t stride, const S* data,
                                  int64_t count) {
    constexpr int kLanes = kReduceLanes<State>;
    for (int64_t r = 0; r < results; ++r) {
        const S* row = data + r * stride;
        State result = out[r];
        int64_t i = 0;
        if (count >= kLanes) {
            State lanes[kLanes];
            for (int lane = 0; lane < kLanes; ++lane) {
                lanes[lane] = op.identity();
            }
            for (; i + kLanes <= count; i += kLanes) {
                for (int lane = 0; lane < kLanes; ++lane) {
                    lanes[lane] = op.add(lanes[lane], row[i + lane]);
                }
            }
            for (int width = kLanes / 2; width > 0; width /= 2) {
                for (int lane = 0; lane < width; ++lane) {
                    lanes[lane] = op.join(lanes[lane], lanes[lane + width]);
                }
            }
            result = op.join(result, lanes[0]);
        }
        for (; i < count; ++i) {
            result = op.add(result, row[i]);
        }
        out[r] = result;
    }
}

// The same for one result.
template <typename Op, typename State, typename S>
void reduce_row(const Op op, State& out, const S* data, int64_t count) {
    reduce_rows(op, &out, 1, 0, data, count);
}

template <typename Op, typename State, typename S>
DIOPI_CPU_CLONES void reduce_columns(const Op op, State* __restrict out, int64_t width, const S* __restrict data,
                                     int64_t stride, int64_t count) {
    constexpr int64_t kLanes = kReduceLanes<State>;
    int64_t i = 0;
    if (width <= 4 * kLanes) {
        // Few columns: their states stay in registers.
        int64_t column = 0;
        for (; column + kLanes <= width; column += kLanes) {
            State lanes[kLanes];
            std::copy_n(out + column, kLanes, lanes);
            for (int64_t k = 0; k < count; ++k) {
                const S* row = data + column + k * stride;
                for (int64_t lane = 0; lane < kLanes; ++lane) {
                    lanes[lane] = op.add(lanes[lane], row[lane]);
                }
            }
            std::copy_n(lanes, kLanes, out + column);
        }
        out += column;
        data += column;
        width -= column;
    }
    // Four rows at a time: the states are loaded and stored less often.
    for (; i + 4 <= count; i += 4) {
        const S* row = data + i * stride;
        for (int64_t k = 0; k < width; ++k) {
            out[k] = op.add(op.add(op.add(op.add(out[k], row[k]), row[k + stride]), row[k + 2 * stride]),
                            row[k + 3 * stride]);
        }
    }
    for (; i < count; ++i) {
        const S* row = data + i * stride;
        for (int64_t k = 0; k < width; ++k) {
            out[k] = op.add(out[k], row[k]);
        }
    }
}

// Reduces rows [begin, end) of one result, of which each is a run along the innermost axis.
template <typename S, typename Reducer, typename State>
void reduce_runs(const ReductionLayout& layout, const Reducer& reducer, State& state, const S* data, int64_t begin,
                 int64_t end) {
    const int64_t length = layout.inner();
    for (int64_t row = begin; row < end; ++row) {
        const S* run = data + offset_of(layout.reduced(), row);
        for (int64_t i = 0; i < length; i += kReduceChunk) {
            reducer.rows(&state, 1, 0, run + i, std::min(kReduceChunk, length - i), row * length + i);
        }
    }
}

// The innermost axis is reduced, and there are results enough for all threads: more than one, along some kept axis.
template <typename S, typename Reducer, typename State>
void reduce_full_rows(const ReductionLayout& layout, const Reducer& reducer, std::vector<State>& states) {
    const auto* data = static_cast<const S*>(layout.data());
    const int64_t rows = count_of(layout.reduced());
    const int64_t neighbours = layout.outer().back().size;
    const int64_t stride = layout.outer().back().stride;
    parallel_for(layout.results(), row_grain(layout.length()), [&](int64_t begin, int64_t end) {
        while (begin < end) {
            const S* from = data + offset_of(layout.outer(), begin);
            const int64_t count = std::min(neighbours - begin % neighbours, end - begin);
            if (rows == 1 && layout.inner() <= kReduceChunk) {
                reducer.rows(&states[begin], count, stride, from, layout.inner(), 0);
            } else {
                for (int64_t r = 0; r < count; ++r) {
                    reduce_runs(layout, reducer, states[begin + r], from + r * stride, 0, rows);
                }
            }
            begin += count;
        }
    });
}

// The innermost axis is reduced, and each of few results is cut into parts.
template <typename S, typename Reducer, typename State>
void reduce_split_rows(const ReductionLayout& layout, const Reducer& reducer, std::vector<State>& states) {
    const auto* data = static_cast<const S*>(layout.data());
    const int64_t rows = count_of(layout.reduced());
    const int64_t length = layout.inner();
    const int64_t pieces = (length + kReduceChunk - 1) / kReduceChunk;     // of a run
    const int64_t together = std::max<int64_t>(1, kReduceChunk / length);  // runs of a part
    const int64_t parts = pieces > 1 ? rows * pieces : (rows + together - 1) / together;
    std::vector<State> partial(static_cast<size_t>(layout.results() * parts), reducer.identity());
    parallel_for(layout.results() * parts, row_grain(std::min(layout.length(), kReduceChunk)),
                 [&](int64_t begin, int64_t end) {
                     for (int64_t part = begin; part < end; ++part) {
                         const S* from = data + offset_of(layout.outer(), part / parts);
                         const int64_t own = part % parts;
                         if (pieces == 1) {
                             reduce_runs(layout, reducer, partial[part], from, own * together,
                                         std::min(rows, (own + 1) * together));
                             continue;
                         }
                         const int64_t row = own / pieces;
                         const int64_t i = own % pieces * kReduceChunk;
                         reducer.rows(&partial[part], 1, 0, from + offset_of(layout.reduced(), row) + i,
                                      std::min(kReduceChunk, length - i), row * length + i);
                     }
                 });
    for (int64_t part = 0; part < layout.results() * parts; ++part) {
        states[part / parts] = reducer.join(states[part / parts], partial[part]);
    }
}

// The innermost axis is kept.
template <typename S, typename Reducer, typename State>
void reduce_all_columns(const ReductionLayout& layout, const Reducer& reducer, std::vector<State>& states) {
    const auto* data = static_cast<const S*>(layout.data());
    const std::vector<Axis>& reduced = layout.reduced();
    const int64_t rows = layout.length();
    const int64_t width = layout.inner();
    const int64_t blocks = (width + kReduceWidth - 1) / kReduceWidth;
    const int64_t units = layout.results() / width * blocks;
    const int64_t worthwhile = layout.results() * rows / (2 * kReduceChunk);
    const int64_t parts = std::max<int64_t>(
        {1, std::min((kReduceParts + units - 1) / units, worthwhile), (rows + kReduceChunk - 1) / kReduceChunk});
    const int64_t rows_of_part = (rows + parts - 1) / parts;
    const int64_t neighbours = reduced.empty() ? 1 : reduced.back().size;
    const int64_t stride = reduced.empty() ? 0 : reduced.back().stride;
    std::vector<State> partial(static_cast<size_t>(parts > 1 ? layout.results() * parts : 0), reducer.identity());
    parallel_for(units * parts, row_grain(std::min(width, kReduceWidth) * rows_of_part),
                 [&](int64_t begin, int64_t end) {
                     for (int64_t number = begin; number < end; ++number) {
                         const int64_t unit = number / parts;
                         const int64_t part = number % parts;
                         const int64_t column = unit % blocks * kReduceWidth;
                         const int64_t first = unit / blocks * width + column;
                         const int64_t count = std::min(kReduceWidth, width - column);
                         State* out = (parts > 1 ? partial.data() + part * layout.results() : states.data()) + first;
                         const S* from = data + offset_of(layout.outer(), unit / blocks) + column;
                         const int64_t last = std::min(rows, (part + 1) * rows_of_part);
                         for (int64_t row = part * rows_of_part; row < last;) {
                             const int64_t run = std::min(neighbours - row % neighbours, last - row);
                             reducer.columns(out, count, from + offset_of(reduced, row), stride, run, row);
                             row += run;
                         }
                     }
                 });
    if (parts > 1) {
        parallel_for(layout.results(), row_grain(parts), [&](int64_t begin, int64_t end) {
            for (int64_t part = 0; part < parts; ++part) {
                const State* own = partial.data() + part * layout.results();
                for (int64_t k = begin; k < end; ++k) {
                    states[k] = reducer.join(states[k], own[k]);
                }
            }
        });
    }
}

}  // namespace detail

// A reducer made of an operation on single elements: `identity()`, `add(State, S)` and `join(State, State)`, all of
// which must be fit to be inlined.
template <typename Op, typename S>
struct ElementReducer {
    using State = decltype(std::declval<Op>().identity());

    Op op;

    State identity() const { return op.identity(); }
    State join(State a, State b) const { return op.join(a, b); }
    void rows(State* out, int64_t results, int64_t stride, const S* data, int64_t count, int64_t /*first*/) const {
        detail::reduce_rows(op, out, results, stride, data, count);
    }
    void columns(State* out, int64_t width, const S* data, int64_t stride, int64_t count, int64_t /*first*/) const {
        detail::reduce_columns(op, out, width, data, stride, count);
    }
};

// One state for each result of a layout over elements of type S.
template <typename S, typename Reducer>
std::vector<typename Reducer::State> reduce(const ReductionLayout& layout, const Reducer& reducer) {
    std::vector<typename Reducer::State> states(static_cast<size_t>(layout.results()), reducer.identity());
    if (layout.results() == 0 || layout.length() == 0) {
        return states;
    }
    if (!layout.is_inner_reduced()) {
        detail::reduce_all_columns<S>(layout, reducer, states);
    } else if (layout.results() >= detail::kReduceParts) {
        detail::reduce_full_rows<S>(layout, reducer, states);
    } else {
        detail::reduce_split_rows<S>(layout, reducer, states);
    }
    return states;
}

// The states of an operation on single elements.
template <typename S, typename Op>
auto reduce_elements(const ReductionLayout& layout, const Op& op) {
    return reduce<S>(layout, ElementReducer<Op, S>{op});
}

// Stores `make(state)` of every state as R.
template <typename R, typename State, typename Make>
void store_states(const ReductionLayout& layout, const Tensor& out, const std::vector<State>& states, Make&& make) {
    const View view = layout.arranged(out);
    const Output<R> result(view.tensor(), layout.results());
    parallel_for(layout.results(), 16384, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
            result[k] = make(states[k]);
        }
    });
    result.store();
}

}  // namespace diopigen::cpu

#endif  // DIOPI_CPU_REDUCE_H_
