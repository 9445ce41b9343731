// Norm, LinalgVecNorm and the gradient of both. Powers are summed in double. The loops.
#include <cmath>

#include "diopi_cpu/reduce.h"
#include "diopi_cpu/vector_norm.h"
#include "reduction/reduction_kernels.h"

namespace diopigen::core {

using namespace cpu;

namespace {

// A norm's reducer over elements, of which it takes the absolute values.
template <typename Norm, typename S>
struct OfSizes {
    Norm norm;
    double identity() const { return norm.identity(); }
    double add(double state, S x) const { return norm.add(state, size_of_element(cast<Computed<S>>(x))); }
    double join(double a, double b) const { return norm.join(a, b); }
};

// The derivative of the norm by one element, not for infinite orders. A norm of 0 has none and gives 0, as do elements
// of 0 unless the norm is not finite.
template <typename A>
A slope(A x, double norm, double order) {
    const double size = std::abs(x);
    if (order == 0 || norm == 0) {
        return A(0);
    }
    if (order == 1) {
        return sgn(x);
    }
    return size == 0 ? A(0) * std::pow(norm, 1 - order) : sgn(x) * std::pow(size / norm, order - 1);
}

}  // namespace

void vector_norms(const Tensor& out, const Tensor& input, const Rows& rows, double order) {
    const ReductionLayout layout(input, rows, Walk::kMemory);
    dispatch<kFloating | kComplex>(input.dtype, [&](auto sample) {
        using S = decltype(sample);
        dispatch_norm(order, [&](auto norm) {
            const auto states = reduce_elements<S>(layout, OfSizes<decltype(norm), S>{norm});
            store_states<double>(layout, out, states, [&](double state) { return norm.finish(state); });
        });
    });
}

void vector_norm_gradient(const Tensor& target_tensor, const Tensor& gradients_tensor, const Tensor& source_tensor,
                          const Tensor& norms_tensor, const Rows& rows, double order) {
    dispatch_compute<kFloating | kComplex>(source_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        using A = Accumulator<T>;
        const Input<T> data(source_tensor);
        const Input<Real<T>> gradients(gradients_tensor);
        const Input<Real<T>> lengths(norms_tensor);
        const Output<T> result(target_tensor);
        parallel_for(rows.count, row_grain(rows.length), [&](int64_t begin, int64_t end) {
            for (int64_t row = begin; row < end; ++row) {
                const T* x = data.data() + row * rows.length;
                T* to = result.data() + row * rows.length;
                const auto gradient = static_cast<double>(gradients[row]);
                const Real<T> length = lengths[row];
                if (!std::isinf(order)) {
                    for (int64_t i = 0; i < rows.length; ++i) {
                        to[i] = cast<T>(slope(cast<A>(x[i]), static_cast<double>(length), order) * gradient);
                    }
                    continue;
                }
                // Infinite orders: the gradient is split between the elements that attain the norm.
                const auto attains = [&](T element) {
                    const auto size = cast<Real<T>>(size_of_element(element));
                    return size == length || (isnan(size) && isnan(length));
                };
                const auto sharers = static_cast<double>(std::count_if(x, x + rows.length, attains));
                for (int64_t i = 0; i < rows.length; ++i) {
                    const A direction = sgn(cast<A>(x[i]));
                    to[i] = attains(x[i]) ? cast<T>(direction * (gradient / sharers)) : T(0);
                }
            }
        });
        result.store();
    });
}

}  // namespace diopigen::core
