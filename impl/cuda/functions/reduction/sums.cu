// Sum, Mean, Prod, Any, All.
#include "diopi_core/math.h"
#include "diopi_cuda/reduce.h"
#include "reduction/reduction_kernels.h"

namespace diopigen::cuda {

namespace {

template <typename A>
constexpr DtypeSet kTypesOf = std::is_same_v<A, double>  ? kFloating
                              : std::is_same_v<A, Int64> ? kIntegral | kBool
                                                         : kComplex;

// A is the type that is accumulated in.
template <typename A>
struct Sum : Reducer<A, A> {
    static constexpr DtypeSet kTyped = kTypesOf<A>;
    static constexpr bool kAddsNeighbours = std::is_same_v<A, double>;
    double divisor = 1;

    Sum() = default;
    explicit Sum(double by) : divisor(by) {}
    DIOPI_DEVICE A identity() const { return A(0); }
    DIOPI_DEVICE A add(A sum, A x, int64_t) const { return sum + x; }
    DIOPI_DEVICE A join(A a, A b) const { return a + b; }
    DIOPI_DEVICE A finish(A sum) const { return divisor == 1 ? sum : sum / A(divisor); }
};

template <typename A>
struct Product : Reducer<A, A> {
    static constexpr DtypeSet kTyped = std::is_same_v<A, double> ? kFloating : DtypeSet{0};
    DIOPI_DEVICE A identity() const { return A(1); }
    DIOPI_DEVICE A add(A product, A x, int64_t) const { return product * x; }
    DIOPI_DEVICE A join(A a, A b) const { return a * b; }
    DIOPI_DEVICE A finish(A product) const { return product; }
};

struct Truth : Reducer<Bool, uint8_t> {
    static constexpr DtypeSet kTyped = kBool | kFloat32;
    bool is_any;
    explicit Truth(bool any) : is_any(any) {}
    DIOPI_DEVICE State identity() const { return is_any ? 0 : 1; }
    DIOPI_DEVICE State add(State state, Value x, int64_t) const { return join(state, x.value); }
    DIOPI_DEVICE State join(State a, State b) const { return is_any ? a | b : a & b; }
    DIOPI_DEVICE Bool finish(State state) const { return Bool(state); }
};

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

}  // namespace diopigen::cuda

namespace diopigen::core {

using namespace diopigen::cuda;  // NOLINT

void reduce_sum(const Tensor& out, const Tensor& input, const Rows& rows) {
    dispatch_accumulator(input.dtype, [&](auto sample) {
        using A = decltype(sample);
        reduce_rows<A>(out, input, rows, Sum<A>());
    });
}

void reduce_mean(const Tensor& out, const Tensor& input, const Rows& rows) {
    dispatch_accumulator(input.dtype, [&](auto sample) {
        using A = decltype(sample);
        reduce_rows<A>(out, input, rows, Sum<A>(static_cast<double>(rows.length)));
    });
}

void reduce_product(const Tensor& out, const Tensor& input, const Rows& rows) {
    dispatch_accumulator(input.dtype, [&](auto sample) {
        using A = decltype(sample);
        reduce_rows<A>(out, input, rows, Product<A>());
    });
}

void find_truth(const Tensor& out, const Tensor& input, const Rows& rows, bool is_any) {
    reduce_rows<Bool>(out, input, rows, Truth(is_any));
}

}  // namespace diopigen::core
