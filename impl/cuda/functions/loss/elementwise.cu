// Losses that are computed element by element, and their gradients: by 16 bytes where operands are laid out so, in
// float for floats and halves. Sums are in double, by parts of the elements, whose order follows from their number
// alone.
#include "diopi_cuda/rows.h"
#include "elements.h"
#include "formulas.h"
#include "loss/loss_kernels.h"

namespace diopigen::cuda {

namespace {

// The losses of a part of the elements: each to `out`, or else their sum to `parts`.
template <typename S, typename Formula>
struct PartLosses {
    using Elements = LossElements<S>;
    using T = typename Elements::T;
    static constexpr int n = Elements::n;

    LossOperands<S> inputs;
    Formula formula;
    S* out;
    double* parts;

    DIOPI_DEVICE void operator()(const Group& group, int64_t k) const {
        const int64_t end = (k + 1) * RowParts::kPart < inputs.count ? (k + 1) * RowParts::kPart : inputs.count;
        double sum = 0;
        for (int64_t first = k * RowParts::kPart + group.thread() * n; first < end; first += group.size() * n) {
            const Elements own(inputs, first);
            T losses[n];
            T part = 0;
            DIOPI_UNROLL
            for (int i = 0; i < n; ++i) {
                losses[i] = formula.loss(own.x[i], own.y[i], own.weight[i], own.positive[i]);
                part += i < own.left ? losses[i] : T(0);
            }
            if (out != nullptr) {
                store_some<S, n>(out, losses, first, own.left, inputs.is_vectorized);
            }
            sum += static_cast<double>(part);
        }
        sum = group.sum(sum);
        if (group.thread() == 0 && parts != nullptr) {
            parts[k] = sum;
        }
    }
};

template <typename S, typename Formula>
struct ElementSlopes {
    using Elements = LossElements<S>;
    using T = typename Elements::T;
    static constexpr int n = Elements::n;

    LossOperands<S> inputs;
    Formula formula;
    S* gradient;
    const S* grad_out;
    bool is_single;   // one grad_output for all elements
    double fraction;  // of an element in the result

    DIOPI_DEVICE void operator()(int64_t k) const {
        const Elements own(inputs, k * n);
        T grad_values[n];
        if (is_single) {
            // Of halves the mean of many elements has gradients below what a half can be.
            const T all = static_cast<T>(static_cast<Computed<S>>(*grad_out)) * static_cast<T>(fraction);
            DIOPI_UNROLL
            for (int i = 0; i < n; ++i) {
                grad_values[i] = all;
            }
        } else {
            load_some<S, n>(grad_values, grad_out, k * n, own.left, inputs.is_vectorized, T(0));
            DIOPI_UNROLL
            for (int i = 0; i < n; ++i) {
                grad_values[i] = grad_values[i] * static_cast<T>(fraction);
            }
        }
        DIOPI_UNROLL
        for (int i = 0; i < n; ++i) {
            grad_values[i] = formula.slope(own.x[i], own.y[i], own.weight[i], own.positive[i]) * grad_values[i];
        }
        store_some<S, n>(gradient, grad_values, k * n, own.left, inputs.is_vectorized);
    }
};

template <typename S>
void finish_losses(S* out, const double* sums, int64_t parts, double divisor) {
    for_groups(1, threads_for(parts), 0, [=] DIOPI_KERNEL(const Group& group, int64_t) {
        double sum = 0;
        for (int64_t k = group.thread(); k < parts; k += group.size()) {
            sum += sums[k];
        }
        sum = group.sum(sum);
        if (group.thread() == 0) {
            *out = cast<S>(sum / divisor);
        }
    });
}

struct LossTensors {
    const Tensor& input;
    const Tensor& target;
    const Tensor& weight;
    const Tensor& positive;
};

// A factor that broadcasts to the shape of `input`; none where it is null.
template <typename S>
class Factor {
  public:
    Factor(const Tensor& factor, const Tensor& input)
        : view_(factor.is_null() ? View(Tensor(), {}, {}) : expanded(factor, shape_of(input))),
          values_(view_.tensor()) {}
    const S* data() const { return values_.data(); }

  private:
    View view_;
    Input<S> values_;
};

// The operands on the device. Accesses of 16 bytes need `one` and `other` to be laid out so as well, where they are not
// null.
template <typename S>
class LossInputs {
  public:
    explicit LossInputs(const LossTensors& tensors)
        : count_(tensors.input.numel),
          x_(tensors.input),
          y_(tensors.target),
          weight_(tensors.weight, tensors.input),
          positive_(tensors.positive, tensors.input) {}
    LossOperands<S> operands(const S* one, const S* other) const {
        const bool is_vectorized =
            can_vectorize<S>(0, {x_.data(), y_.data(), weight_.data(), positive_.data(), one, other});
        return {x_.data(), y_.data(), weight_.data(), positive_.data(), count_, is_vectorized};
    }

  private:
    int64_t count_;
    Input<S> x_;
    Input<S> y_;
    Factor<S> weight_;
    Factor<S> positive_;
};

template <typename Formula>
void losses(const Tensor& out, const LossTensors& tensors, diopiReduction_t reduction, const Formula& formula) {
    dispatch<kFloating>(core::loss_dtype(tensors.input, tensors.target), [&](auto sample) {
        using S = decltype(sample);
        const LossInputs<S> inputs(tensors);
        const Output<S> result(out);
        const int64_t count = tensors.input.numel;
        const bool is_unreduced = reduction == ReductionNone;
        S* const each = is_unreduced ? result.data() : nullptr;
        const int64_t parts = (count + RowParts::kPart - 1) / RowParts::kPart;
        Buffer memory;
        memory.allocate(is_unreduced ? 0 : parts * static_cast<int64_t>(sizeof(double)));
        auto* const sums = is_unreduced ? nullptr : static_cast<double*>(memory.data());
        for_groups(parts, kThreads, 0, PartLosses<S, Formula>{inputs.operands(each, nullptr), formula, each, sums});
        if (!is_unreduced) {
            finish_losses<S>(result.data(), sums, parts, reduction == ReductionMean ? static_cast<double>(count) : 1.0);
        }
        result.store();
    });
}

template <typename Formula>
void gradients(const Tensor& gradient, const Tensor& grad_output, const LossTensors& tensors,
               diopiReduction_t reduction, const Formula& formula) {
    const double fraction = reduction == ReductionMean ? 1.0 / static_cast<double>(gradient.numel) : 1.0;
    const bool is_single = grad_output.numel == 1;
    const View grad_out_view = expanded(grad_output, is_single ? shape_of(grad_output) : shape_of(gradient));
    dispatch<kFloating>(core::loss_dtype(tensors.input, tensors.target), [&](auto sample) {
        using S = decltype(sample);
        const LossInputs<S> inputs(tensors);
        const Input<S> grad_out(grad_out_view.tensor());
        const Output<S> result(gradient);
        const LossOperands<S> operands = inputs.operands(result.data(), is_single ? nullptr : grad_out.data());
        for_each((gradient.numel + kVectorSize<S> - 1) / kVectorSize<S>,
                 ElementSlopes<S, Formula>{operands, formula, result.data(), grad_out.data(), is_single, fraction});
        result.store();
    });
}

template <typename S>
void look_for_improbable(const Finding& found, const S* x, int64_t count, bool is_vectorized) {
    constexpr int n = kVectorSize<S>;
    for_each((count + n - 1) / n, [=] DIOPI_KERNEL(int64_t k) {
        using T = Computed<S>;
        T values[n];
        load_some<S, n>(values, x, k * n, count - k * n < n ? static_cast<int>(count - k * n) : n, is_vectorized, T(0));
        bool is_wrong = false;
        DIOPI_UNROLL
        for (int i = 0; i < n; ++i) {
            is_wrong = is_wrong || !(values[i] >= T(0) && values[i] <= T(1));
        }
        if (is_wrong) {
            found();
        }
    });
}

void require_probabilities(const Tensor& input) {
    const Check check(kProbabilityRule);
    dispatch<kFloating>(input.dtype, [&](auto sample) {
        using S = decltype(sample);
        const Input<S> x(input);
        look_for_improbable<S>(check.finding(), x.data(), input.numel, can_vectorize<S>(0, {x.data()}));
    });
    check.conclude();
}

const Tensor kNone;

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

using cuda::kNone;

void mse_losses(const Tensor& out_tensor, const Tensor& input_tensor, const Tensor& target_tensor,
                diopiReduction_t reduction) {
    cuda::losses(out_tensor, {input_tensor, target_tensor, kNone, kNone}, reduction, cuda::Mse());
}

void mse_gradients(const Tensor& gradient_tensor, const Tensor& grad_out_tensor, const Tensor& input_tensor,
                   const Tensor& target_tensor, diopiReduction_t reduction) {
    cuda::gradients(gradient_tensor, grad_out_tensor, {input_tensor, target_tensor, kNone, kNone}, reduction,
                    cuda::Mse());
}

void smooth_l1_losses(const Tensor& out_tensor, const Tensor& input_tensor, const Tensor& target_tensor,
                      diopiReduction_t reduction, double beta) {
    cuda::losses(out_tensor, {input_tensor, target_tensor, kNone, kNone}, reduction, cuda::SmoothL1{beta});
}

void smooth_l1_gradients(const Tensor& gradient_tensor, const Tensor& grad_out_tensor, const Tensor& input_tensor,
                         const Tensor& target_tensor, diopiReduction_t reduction, double beta) {
    cuda::gradients(gradient_tensor, grad_out_tensor, {input_tensor, target_tensor, kNone, kNone}, reduction,
                    cuda::SmoothL1{beta});
}

void bce_losses(const Tensor& out_tensor, const Tensor& input_tensor, const Tensor& target_tensor,
                const Tensor& weight_tensor, diopiReduction_t reduction) {
    cuda::require_probabilities(input_tensor);
    cuda::losses(out_tensor, {input_tensor, target_tensor, weight_tensor, kNone}, reduction, cuda::Bce());
}

void bce_gradients(const Tensor& gradient_tensor, const Tensor& grad_out_tensor, const Tensor& input_tensor,
                   const Tensor& target_tensor, const Tensor& weight_tensor, diopiReduction_t reduction) {
    cuda::gradients(gradient_tensor, grad_out_tensor, {input_tensor, target_tensor, weight_tensor, kNone}, reduction,
                    cuda::Bce());
}

void logit_losses(const Tensor& out_tensor, const Tensor& input_tensor, const Tensor& target_tensor,
                  const Tensor& weight_tensor, const Tensor& positive_tensor, diopiReduction_t reduction) {
    cuda::losses(out_tensor, {input_tensor, target_tensor, weight_tensor, positive_tensor}, reduction, cuda::Logits());
}

void logit_gradients(const Tensor& gradient_tensor, const Tensor& grad_out_tensor, const Tensor& input_tensor,
                     const Tensor& target_tensor, const Tensor& weight_tensor, const Tensor& positive_tensor,
                     diopiReduction_t reduction) {
    cuda::gradients(gradient_tensor, grad_out_tensor, {input_tensor, target_tensor, weight_tensor, positive_tensor},
                    reduction, cuda::Logits());
}

void focal_losses(const Tensor& out_tensor, const Tensor& input_tensor, const Tensor& target_tensor,
                  diopiReduction_t reduction, const Focus& focus) {
    cuda::losses(out_tensor, {input_tensor, target_tensor, kNone, kNone}, reduction, cuda::Focal{focus});
}

void focal_gradients(const Tensor& gradient_tensor, const Tensor& grad_out_tensor, const Tensor& input_tensor,
                     const Tensor& target_tensor, diopiReduction_t reduction, const Focus& focus) {
    cuda::gradients(gradient_tensor, grad_out_tensor, {input_tensor, target_tensor, kNone, kNone}, reduction,
                    cuda::Focal{focus});
}

}  // namespace diopigen::core
