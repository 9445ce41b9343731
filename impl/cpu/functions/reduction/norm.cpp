// Norm, LinalgVecNorm and the gradient of both. Powers are summed in double.
#include <diopi/functions.h>

#include <cmath>

#include "checks.h"
#include "diopi_cpu/fold.h"
#include "diopi_cpu/vector_norm.h"

using namespace diopi::cpu;

namespace {

constexpr DtypeSet kVectors = kFloating | kComplex;

// A norm's fold over elements, of which it takes the absolute values.
template <typename Norm, typename S>
struct OfSizes {
    Norm norm;
    double identity() const { return norm.identity(); }
    double add(double state, S x) const { return norm.add(state, size_of_element(cast<Computed<S>>(x))); }
    double join(double a, double b) const { return norm.join(a, b); }
};

void norms(const Tensor& out, const Tensor& input, const Number& order, const Rows& rows, const char* empty) {
    require(rows.length > 0 || !needs_elements(order.value()), empty);
    const FoldLayout layout(input, rows, Walk::kMemory);
    dispatch<kVectors>(input.dtype, [&](auto sample) {
        using S = decltype(sample);
        dispatch_norm(order.value(), [&](auto norm) {
            const auto states = fold_elements<S>(layout, OfSizes<decltype(norm), S>{norm});
            store_states<double>(layout, out, states, [&](double state) { return norm.finish(state); });
        });
    });
}

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

DIOPI_API diopiError_t diopiNorm(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                 const diopiScalar_t* p, diopiSize_t dim) {
    return guarded("diopiNorm", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kVectors);
        const Number order = scalar("p", p, kNumber);
        const Rows rows = rows_over(input_tensor, "dim", dim);
        require_dtype(out_tensor, to_real(input_tensor.dtype));
        check_reduction(out_tensor, input_tensor, rows, KeepDim::kEither);
        norms(out_tensor, input_tensor, order, rows,
              "parameter 'input' has empty vectors, which have no norm of negative or infinite order 'p'");
    });
}

DIOPI_API diopiError_t diopiLinalgVecNorm(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                          diopiConstTensorHandle_t input, diopiScalar_t* ord, diopiSize_t dim,
                                          bool keepdim) {
    return guarded("diopiLinalgVecNorm", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kVectors);
        const Number order = scalar("ord", ord, kNumber);
        const Rows rows = rows_over(input_tensor, "dim", dim);
        require_dtype(out_tensor, to_real(input_tensor.dtype));
        check_reduction(out_tensor, input_tensor, rows, keepdim ? KeepDim::kYes : KeepDim::kNo);
        norms(out_tensor, input_tensor, order, rows,
              "parameter 'input' has empty vectors, which have no norm of negative or infinite order 'ord'");
    });
}

DIOPI_API diopiError_t diopiNormBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t grad_input,
                                         diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t self,
                                         diopiConstTensorHandle_t norm, diopiSize_t dim, const diopiScalar_t* p) {
    return guarded("diopiNormBackward", [&] {
        const Tensor grad_input_tensor = tensor("grad_input", grad_input, kVectors);
        const Tensor grad_output_tensor = tensor("grad_output", grad_output, kFloating);
        const Tensor self_tensor = tensor("self", self, kVectors);
        const Tensor norm_tensor = tensor("norm", norm, kFloating);
        const Number order_number = scalar("p", p, kNumber);
        const Rows rows = rows_over(self_tensor, "dim", dim);
        require_same_dtype(grad_input_tensor, self_tensor);
        require_same_shape(grad_input_tensor, self_tensor);
        require_no_overlap(grad_input_tensor);
        for (const Tensor* reduced : {&grad_output_tensor, &norm_tensor}) {
            require_dtype(*reduced, to_real(self_tensor.dtype));
            require_reduced(*reduced, self_tensor, rows, KeepDim::kEither);
            require_disjoint(grad_input_tensor, *reduced);
        }
        require_disjoint(grad_input_tensor, self_tensor);
        require_one_device({&grad_input_tensor, &grad_output_tensor, &self_tensor, &norm_tensor});
        const double order = order_number.value();
        const View source = permuted(self_tensor, rows.order());
        const View target = permuted(grad_input_tensor, rows.order());
        dispatch_compute<kVectors>(self_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            using A = Accumulator<T>;
            const Input<T> data(source.tensor());
            const Input<Real<T>> gradients(grad_output_tensor);
            const Input<Real<T>> lengths(norm_tensor);
            const Output<T> result(target.tensor());
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
                    // Infinite orders: the elements that attain the norm share its gradient.
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
    });
}
