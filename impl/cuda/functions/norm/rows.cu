// LayerNorm and RMSNorm: rows with a weight for each position.
#include "columns.h"
#include "held.h"
#include "norm/norm_kernels.h"
#include "span_kernels.h"

namespace diopigen::cuda {

namespace {

// The scaling of each row, from the moments of its parts.
template <typename S>
struct FinishRows {
    const Moments* states;
    int64_t parts;
    Scaling<S>* scalings;
    Values means;
    Values invstds;
    double eps;

    DIOPI_DEVICE void operator()(const Group& group, int64_t row) const {
        const Moments own = join_parts(group, states, row, parts, JoinMoments());
        if (group.thread() == 0) {
            const double invstd = 1 / numeric::sqrt(own.variance() + eps);
            scalings[row] = {Centre<S>(own.mean), static_cast<Computed<S>>(invstd), 0};
            means.set_if_there(row, own.mean);
            invstds.set_if_there(row, invstd);
        }
    }
};

template <typename S>
struct FinishRowSlopes {
    const Sums* states;
    int64_t parts;
    Slope<S>* slopes;
    Values means;  // missing: not centred
    Values invstds;
    double count;
    Scaling<S>* saved;  // the statistics as they were used; may be null

    DIOPI_DEVICE void operator()(const Group& group, int64_t row) const {
        const Sums sums = join_parts(group, states, row, parts, JoinSums());
        if (group.thread() == 0) {
            const double mean = means.get_or(row, 0);
            const double invstd = invstds.get(row);
            slopes[row] = slope_of<S>(mean, invstd, 1, sums, count, means.is_there());
            if (saved != nullptr) {
                saved[row] = {Centre<S>(mean), static_cast<Computed<S>>(invstd), 0};
            }
        }
    }
};

// Gradients with respect to scale and shift: sums over the rows.
template <typename S, int n>
struct RowTerms {
    using T = Computed<S>;
    static constexpr int kWidth = n;
    struct Column {};

    const S* g;
    const S* x;
    int64_t length;
    const Scaling<S>* rows;

    DIOPI_DEVICE Column column(int64_t) const { return {}; }
    DIOPI_DEVICE void operator()(int64_t row, int64_t column, const Column&, T* own, T* product) const {
        const Scaling<S> known = rows[row];
        T values[n];
        unpack<S, n>(own, load_vector<S, n>(g + row * length + column));
        unpack<S, n>(values, load_vector<S, n>(x + row * length + column));
        DIOPI_UNROLL
        for (int i = 0; i < n; ++i) {
            product[i] = own[i] * (known.centre.distance(values[i]) * known.factor);
        }
    }
};

template <typename S>
struct WriteFactors {
    S* scale;
    S* shift;

    DIOPI_DEVICE void operator()(int64_t column, double own, double product) const {
        if (scale != nullptr) {
            scale[column] = cast<S>(product);
        }
        if (shift != nullptr) {
            shift[column] = cast<S>(own);
        }
    }
};

template <typename S>
void normalise(const Trailing& parts, S* y, const S* x, const S* weight, const S* bias, const Values& means,
               const Values& invstds, double eps, bool is_centred) {
    bool done = false;
    dispatch_spans<S>(parts.length, {y, x, weight, bias}, [&](auto vector) {
        using Kernel = HeldNormal<S, decltype(vector)::value, ByPosition>;
        const RowTiles tiles(parts.rows, parts.length, decltype(vector)::value, Kernel::kHeld);
        done = tiles.fits;
        if (done) {
            for_groups(tiles.groups(), tiles.threads, 0,
                       Kernel{tiles, y, x, weight, bias, ByPosition(), means, invstds,
                              1.0 / static_cast<double>(parts.length), eps, is_centred});
        }
    });
    if (done) {
        return;
    }
    const auto states = moments_of_spans<S>(parts.rows, 1, parts.length, x, is_centred);
    const Room<Scaling<S>> scalings(parts.rows);
    for_groups(parts.rows, threads_for(states.parts), 0,
               FinishRows<S>{states.data(), states.parts, scalings.data(), means, invstds, eps});
    scale_spans<S>(parts.rows, parts.length, parts.rows, y, x, scalings.data(), weight, bias);
}

template <typename S>
void propagate(const Trailing& parts, S* to, const S* g, const S* x, const S* weight, const Values& means,
               const Values& invstds, Scaling<S>* saved) {
    bool done = false;
    dispatch_spans<S>(parts.length, {to, g, x, weight}, [&](auto vector) {
        using Kernel = HeldGradient<S, decltype(vector)::value>;
        const RowTiles tiles(parts.rows, parts.length, decltype(vector)::value, Kernel::kHeld);
        done = tiles.fits;
        if (done) {
            for_groups(tiles.groups(), tiles.threads, 0,
                       Kernel{tiles, to, g, x, weight, means, invstds, 1.0 / static_cast<double>(parts.length), saved});
        }
    });
    if (done) {
        return;
    }
    const auto states = sums_of_spans<S>(parts.rows, 1, parts.length, g, x, weight, means, 1);
    const Room<Slope<S>> slopes(parts.rows);
    for_groups(parts.rows, threads_for(states.parts), 0,
               FinishRowSlopes<S>{states.data(), states.parts, slopes.data(), means, invstds,
                                  static_cast<double>(parts.length), saved});
    slopes_of_spans<S>(parts.rows, parts.length, parts.rows, to, g, x, slopes.data(), weight);
}

void normalise(const Trailing& parts, const Tensor& out, const Tensor& mean, const Tensor& invstd, const Tensor& input,
               const Tensor& weight, const Tensor& bias, double eps, bool is_centred) {
    const OutputValues means(mean);
    const OutputValues invstds(invstd);
    dispatch<kFloating>(core::dtype_with_factors(input, {&weight, &bias}), [&](auto sample) {
        using S = decltype(sample);
        const Input<S> x(input);
        const Input<S> scale(weight);
        const Input<S> shift(bias);
        const Output<S> y(out);
        normalise<S>(parts, y.data(), x.data(), scale.data(), shift.data(), means.values(), invstds.values(), eps,
                     is_centred);
        y.store();
    });
    means.store();
    invstds.store();
}

void propagate(const Trailing& parts, const Tensor& input_gradient, const Tensor& weight_gradient,
               const Tensor& bias_gradient, const Tensor& grad_out, const Tensor& input, const Tensor& weight,
               const Tensor& mean, const Tensor& invstd) {
    const InputValues means(mean);
    const InputValues invstds(invstd);
    dispatch<kFloating>(core::dtype_with_factors(input, {&weight, &weight_gradient, &bias_gradient}), [&](auto sample) {
        using S = decltype(sample);
        const Input<S> x(input);
        const Input<S> g(grad_out);
        const Input<S> scale(weight);
        const Output<S> gradient(input_gradient, input.numel);
        const bool has_weights = !weight_gradient.is_null() || !bias_gradient.is_null();
        const Room<Scaling<S>> saved(has_weights ? parts.rows : 0);
        propagate<S>(parts, gradient.data(), g.data(), x.data(), scale.data(), means.values(), invstds.values(),
                     has_weights ? saved.data() : nullptr);
        gradient.store();
        if (!has_weights) {
            return;
        }
        const Output<S> scales(weight_gradient);
        const Output<S> shifts(bias_gradient);
        dispatch_spans<S>(parts.length, {g.data(), x.data()}, [&](auto vector) {
            const RowTerms<S, decltype(vector)::value> terms{g.data(), x.data(), parts.length, saved.data()};
            sum_columns(parts.rows, parts.length, terms,
                        WriteFactors<S>{weight_gradient.is_null() ? nullptr : scales.data(),
                                        bias_gradient.is_null() ? nullptr : shifts.data()});
        });
        scales.store();
        shifts.store();
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

void normalise_rows(const Tensor& out, const Tensor& mean, const Tensor& invstd, const Tensor& input,
                    const Tensor& weight, const Tensor& bias, const Trailing& parts, double eps) {
    cuda::normalise(parts, out, mean, invstd, input, weight, bias, eps, true);
}

void row_gradients(const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias,
                   const Tensor& grad_output, const Tensor& input, const Tensor& weight, const Tensor& mean,
                   const Tensor& invstd, const Trailing& parts) {
    cuda::propagate(parts, grad_input, grad_weight, grad_bias, grad_output, input, weight, mean, invstd);
}

void normalise_rows_by_rms(const Tensor& out_tensor, const Tensor& inverse_tensor, const Tensor& input_tensor,
                           const Tensor& weight_tensor, const Tensor& bias_tensor, const Trailing& parts, double eps) {
    cuda::normalise(parts, out_tensor, Tensor(), inverse_tensor, input_tensor, weight_tensor, bias_tensor, eps, false);
}

void rms_row_gradients(const Tensor& gradient_tensor, const Tensor& scale_tensor, const Tensor& shift_tensor,
                       const Tensor& grad_out_tensor, const Tensor& input_tensor, const Tensor& weight_tensor,
                       const Tensor& inverse_tensor, const Trailing& parts) {
    cuda::propagate(parts, gradient_tensor, scale_tensor, shift_tensor, grad_out_tensor, input_tensor, weight_tensor,
                    Tensor(), inverse_tensor);
}

}  // namespace diopigen::core
