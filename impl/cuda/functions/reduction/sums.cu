// Sum, Mean, Prod, Any, All.
#include "diopi_cpu/math.h"
#include "diopi_cuda/fold.h"
#include "reduction/kernels.h"

namespace diopi::cuda {

namespace {

// A is the type that is accumulated in.
template <typename A>
struct Sum {
    using Value = A;
    using State = A;
    double divisor = 1;
    DIOPI_DEVICE State identity() const { return State(0); }
    DIOPI_DEVICE State add(State sum, Value x, int64_t) const { return sum + x; }
    DIOPI_DEVICE State join(State a, State b) const { return a + b; }
    DIOPI_DEVICE State finish(State sum) const { return divisor == 1 ? sum : sum / State(divisor); }
};

template <typename A>
struct Product {
    using Value = A;
    using State = A;
    DIOPI_DEVICE State identity() const { return State(1); }
    DIOPI_DEVICE State add(State product, Value x, int64_t) const { return product * x; }
    DIOPI_DEVICE State join(State a, State b) const { return a * b; }
    DIOPI_DEVICE State finish(State product) const { return product; }
};

struct Truth {
    using Value = Bool;
    using State = uint8_t;
    bool is_any;
    DIOPI_DEVICE State identity() const { return is_any ? 0 : 1; }
    DIOPI_DEVICE State add(State state, Value x, int64_t) const { return join(state, x.value); }
    DIOPI_DEVICE State join(State a, State b) const { return is_any ? a | b : a & b; }
    DIOPI_DEVICE Bool finish(State state) const { return Bool(state); }
};

template <typename Result, typename Fold>
void reduce(const Tensor& out, const Tensor& input, const Rows& rows, const Fold& fold) {
    const auto folded = fold_rows(row_source(input, rows), fold);
    finish_rows<Result>(out, folded, fold);
}

// Calls `body(A{})` with the type that elements of `dtype` are added up in.
template <typename Body>
void dispatch_accumulator(Dtype dtype, Body&& body) {
    if (is_complex(dtype)) {
        body(Complex128{});
    } else if (is_floating(dtype)) {
        body(double{});
    } else {
        body(Int64{});
    }
}

}  // namespace

}  // namespace diopi::cuda

namespace diopi::cpu {

using namespace diopi::cuda;  // NOLINT

void fold_sum(const Tensor& out, const Tensor& input, const Rows& rows) {
    dispatch_accumulator(input.dtype, [&](auto sample) {
        using A = decltype(sample);
        reduce<A>(out, input, rows, Sum<A>());
    });
}

void fold_mean(const Tensor& out, const Tensor& input, const Rows& rows) {
    dispatch_accumulator(input.dtype, [&](auto sample) {
        using A = decltype(sample);
        reduce<A>(out, input, rows, Sum<A>{static_cast<double>(rows.length)});
    });
}

void fold_product(const Tensor& out, const Tensor& input, const Rows& rows) {
    dispatch_accumulator(input.dtype, [&](auto sample) {
        using A = decltype(sample);
        reduce<A>(out, input, rows, Product<A>());
    });
}

void find_truth(const Tensor& out, const Tensor& input, const Rows& rows, bool is_any) {
    reduce<Bool>(out, input, rows, Truth{is_any});
}

}  // namespace diopi::cpu
