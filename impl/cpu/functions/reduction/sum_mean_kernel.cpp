// Sum, Mean, Prod. Accumulated in double, complex<double> or int64 (which wraps). The loops.
#include "diopi_cpu/reduce.h"
#include "reduction/reduction_kernels.h"

namespace diopigen::core {

using namespace cpu;

namespace {

template <typename S>
struct Add {
    using State = Accumulator<Computed<S>>;
    State identity() const { return State(0); }
    State add(State sum, S x) const { return sum + cast<State>(x); }
    State join(State a, State b) const { return a + b; }
};

template <typename S>
struct Multiply {
    using State = Accumulator<Computed<S>>;
    State identity() const { return State(1); }
    State add(State product, S x) const { return product * cast<State>(x); }
    State join(State a, State b) const { return a * b; }
};

// Reduces by `Op<S>`; `finish` makes a result of the state.
template <template <typename> typename Op, DtypeSet set, typename Finish>
void reduce(const Tensor& out, const Tensor& input, const Rows& rows, Finish&& finish) {
    const ReductionLayout layout(input, rows, Walk::kMemory);
    dispatch<set>(input.dtype, [&](auto sample) {
        using S = decltype(sample);
        const auto states = reduce_elements<S>(layout, Op<S>());
        store_states<typename Op<S>::State>(layout, out, states, finish);
    });
}

}  // namespace

void reduce_sum(const Tensor& out, const Tensor& input, const Rows& rows) {
    reduce<Add, kAny>(out, input, rows, [](auto sum) { return sum; });
}

void reduce_mean(const Tensor& out, const Tensor& input, const Rows& rows) {
    const auto length = static_cast<double>(rows.length);
    reduce<Add, kFloating | kComplex>(out, input, rows, [length](auto sum) { return sum / decltype(sum)(length); });
}

void reduce_product(const Tensor& out, const Tensor& input, const Rows& rows) {
    reduce<Multiply, kAny>(out, input, rows, [](auto product) { return product; });
}

}  // namespace diopigen::core
