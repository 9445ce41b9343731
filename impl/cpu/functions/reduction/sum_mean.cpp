// Sum, Mean, Prod. Accumulated in double, complex<double> or int64 (which wraps).
#include <diopi/functions.h>

#include "checks.h"
#include "diopi_cpu/fold.h"

using namespace diopi::cpu;

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

// Folds by `Op<S>`; `finish` makes a result of the state.
template <template <typename> typename Op, DtypeSet set, typename Finish>
void reduce(const Tensor& out, const Tensor& input, const Rows& rows, Finish&& finish) {
    const FoldLayout layout(input, rows, Walk::kMemory);
    dispatch<set>(input.dtype, [&](auto sample) {
        using S = decltype(sample);
        const auto states = fold_elements<S>(layout, Op<S>());
        store_states<typename Op<S>::State>(layout, out, states, finish);
    });
}

Dtype accumulated(Dtype dtype) { return is_floating(dtype) || is_complex(dtype) ? dtype : Dtype::kInt64; }

}  // namespace

DIOPI_API diopiError_t diopiSum(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                diopiSize_t dim) {
    return guarded("diopiSum", [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Rows rows = rows_over(input_tensor, "dim", dim);
        require_castable(out_tensor, accumulated(input_tensor.dtype));
        check_reduction(out_tensor, input_tensor, rows, KeepDim::kEither);
        reduce<Add, kAny>(out_tensor, input_tensor, rows, [](auto sum) { return sum; });
    });
}

DIOPI_API diopiError_t diopiMean(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                 diopiSize_t dim) {
    return guarded("diopiMean", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating | kComplex);
        const Tensor input_tensor = tensor("input", input, kFloating | kComplex);
        const Rows rows = rows_over(input_tensor, "dim", dim);
        require_same_dtype(out_tensor, input_tensor);
        check_reduction(out_tensor, input_tensor, rows, KeepDim::kEither);
        const auto length = static_cast<double>(rows.length);
        reduce<Add, kFloating | kComplex>(out_tensor, input_tensor, rows,
                                          [length](auto sum) { return sum / decltype(sum)(length); });
    });
}

DIOPI_API diopiError_t diopiProd(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                 const int64_t* dim) {
    return guarded("diopiProd", [&] {
        const Tensor out_tensor = tensor("out", out, kAny);
        const Tensor input_tensor = tensor("input", input, kAny);
        const Rows rows = rows_over(input_tensor, "dim", dim);
        require_castable(out_tensor, accumulated(input_tensor.dtype));
        check_reduction(out_tensor, input_tensor, rows, KeepDim::kEither);
        reduce<Multiply, kAny>(out_tensor, input_tensor, rows, [](auto product) { return product; });
    });
}
