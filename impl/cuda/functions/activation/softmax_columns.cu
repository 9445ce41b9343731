// Softmax along a dimension that others follow: neighbouring threads take neighbouring columns, and several rows of
// threads split the elements of a column.
#include "softmax.h"

namespace diopigen::cuda {

namespace {

// The states of the threads of a column, joined: each of them gets the result.
template <typename State, typename Join>
DIOPI_DEVICE State join_slices(const Group& group, int width, State own, const Join& join) {
    if (width == group.size()) {
        return own;
    }
    State* const states = group.shared<State>();
    states[group.thread()] = own;
    group.sync();
    own = states[group.thread() % width];
    for (int k = group.thread() % width + width; k < group.size(); k += width) {
        own = join(own, states[k]);
    }
    return own;
}

template <typename S>
struct ColumnForward {
    using T = Computed<S>;

    Columns columns;
    S* to;  // null: the states alone
    const S* from;
    bool is_log;
    Exponentials* states;

    DIOPI_DEVICE void operator()(const Group& group, int64_t k) const {
        constexpr int kAhead = 4;
        const int width = columns.width(group);
        const int64_t column = k * width + group.thread() % width;
        const int64_t size = column < columns.count ? columns.size : 0;
        const int64_t first = column < columns.count ? columns.first(column) : 0;
        const int slice = group.thread() / width;
        Exponentials own;
        for (int64_t i = slice; i < size; i += kAhead * columns.slices) {
            T values[kAhead];
            DIOPI_UNROLL
            for (int v = 0; v < kAhead; ++v) {
                const int64_t at = i + v * columns.slices;
                values[v] = at < size ? static_cast<T>(from[first + at * columns.inner]) : lowest<T>();
            }
            own.template add<kAhead>(values);
        }
        own = join_slices(group, width, own, JoinExponentials());
        if (to == nullptr) {
            if (slice == 0 && column < columns.count) {
                states[column] = own;
            }
            return;
        }
        const T top = static_cast<T>(own.top);
        const T factor = static_cast<T>(is_log ? numeric::log(own.sum) : 1 / own.sum);
        DIOPI_AHEAD
        for (int64_t i = slice; i < size; i += columns.slices) {
            const T x = static_cast<T>(from[first + i * columns.inner]);
            to[first + i * columns.inner] =
                static_cast<S>(is_log ? x - top - factor : exponential<S>(x - top) * factor);
        }
    }
};

template <typename S>
struct ColumnBackward {
    using T = Computed<S>;

    Columns columns;
    S* to;
    const S* grad_out;
    const S* output;
    bool is_log;

    DIOPI_DEVICE void operator()(const Group& group, int64_t k) const {
        const int width = columns.width(group);
        const int64_t column = k * width + group.thread() % width;
        const int64_t size = column < columns.count ? columns.size : 0;
        const int64_t first = column < columns.count ? columns.first(column) : 0;
        const int slice = group.thread() / width;
        double sum = 0;
        DIOPI_AHEAD
        for (int64_t i = slice; i < size; i += columns.slices) {
            const int64_t at = first + i * columns.inner;
            const T g = static_cast<T>(grad_out[at]);
            sum += static_cast<double>(is_log ? g : g * static_cast<T>(output[at]));
        }
        const T total = static_cast<T>(join_slices(group, width, sum, [](double a, double b) { return a + b; }));
        DIOPI_AHEAD
        for (int64_t i = slice; i < size; i += columns.slices) {
            const int64_t at = first + i * columns.inner;
            const T g = static_cast<T>(grad_out[at]);
            const T y = static_cast<T>(output[at]);
            to[at] = static_cast<S>(is_log ? g - exponential<S>(y) * total : (g - total) * y);
        }
    }
};

}  // namespace

template <typename S>
void softmax_of_columns(bool is_gradient, bool is_log, S* to, const S* from, const S* output, const DimSplit& split) {
    const Columns columns(split);
    const auto shared = static_cast<int64_t>(kThreads * sizeof(Exponentials));
    if (is_gradient) {
        for_groups(columns.groups(), kThreads, shared, ColumnBackward<S>{columns, to, from, output, is_log});
    } else {
        for_groups(columns.groups(), kThreads, shared, ColumnForward<S>{columns, to, from, is_log, nullptr});
    }
}

template <typename S>
void exponentials_of_columns(Exponentials* states, const S* from, const DimSplit& split) {
    const Columns columns(split);
    for_groups(columns.groups(), kThreads, static_cast<int64_t>(kThreads * sizeof(Exponentials)),
               ColumnForward<S>{columns, nullptr, from, false, states});
}

template void exponentials_of_columns(Exponentials*, const float*, const DimSplit&);
template void exponentials_of_columns(Exponentials*, const double*, const DimSplit&);
template void exponentials_of_columns(Exponentials*, const Half*, const DimSplit&);
template void exponentials_of_columns(Exponentials*, const Bfloat16*, const DimSplit&);
template void softmax_of_columns(bool, bool, float*, const float*, const float*, const DimSplit&);
template void softmax_of_columns(bool, bool, double*, const double*, const double*, const DimSplit&);
template void softmax_of_columns(bool, bool, Half*, const Half*, const Half*, const DimSplit&);
template void softmax_of_columns(bool, bool, Bfloat16*, const Bfloat16*, const Bfloat16*, const DimSplit&);

}  // namespace diopigen::cuda
