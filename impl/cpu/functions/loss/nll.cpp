// NLLLoss and NLLLossV2 with their gradients: sums in double. The mean divides by the weights of the samples that
// count.
#include <diopi/functions.h>

#include "classes.h"
#include "diopi_cpu/reduction.h"

using namespace diopi::cpu;

namespace {

constexpr const char* kShapeRule = "C1: the shape of target is that of input without its class dimension";
constexpr const char* kIndexRule =
    "C2: every class index is ignore_index, or at least 0 and below the number of classes";

void nll(const Tensor& out, const Tensor& total_weight, const Tensor& input, const Tensor& target, const Tensor& weight,
         diopiReduction_t reduction, int64_t ignored) {
    const Classes sizes = classes_of(input);
    require(shape_of(target) == sizes.without, kShapeRule);
    check_classification(out, input, target, weight, sizes, reduction);
    require_shape(out, reduction == ReductionNone ? sizes.without : std::vector<int64_t>());
    if (!total_weight.is_null()) {
        check_classification(total_weight, input, target, weight, sizes, reduction);
        require_shape(total_weight, {});
        require_disjoint(total_weight, out);
    }
    const Input<Int64> wanted(target);
    check_indices(wanted, sizes, ignored, kIndexRule);
    dispatch_compute<kFloating>(input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> scores(input);
        const Input<T> weights(weight);
        const Output<T> result(out);
        const Output<T> total(total_weight, 1);
        const double shares = reduce_samples(result, sizes.count(), 8192, reduction, [&](int64_t i) {
            const int64_t at = wanted[i].value;
            if (at == ignored) {
                return Weighed();
            }
            const double share = weights ? weights[at] : T(1);
            return Weighed{-share * scores[sizes.first(i) + at * sizes.places], share};
        });
        total[0] = static_cast<T>(reduction == ReductionNone ? 0 : shares);
        result.store();
        total.store();
    });
}

// Where `total_weight` is null, the weights that the mean divides by are summed up.
void nll_backward(const Tensor& grad_input, const Tensor& grad_output, const Tensor& input, const Tensor& target,
                  const Tensor& weight, const Tensor& total_weight, diopiReduction_t reduction, int64_t ignored) {
    const Classes sizes = classes_of(input);
    require(shape_of(target) == sizes.without, kShapeRule);
    check_classification(grad_input, input, target, weight, sizes, reduction);
    require_same_shape(grad_input, input);
    require_same_dtype(grad_output, input);
    require_broadcastable(grad_output, target);
    require_same_dtype(total_weight, input);
    require_shape(total_weight, {});
    require_one_device({&input, &grad_output, &total_weight});
    require_disjoint(grad_input, grad_output);
    require_disjoint(grad_input, total_weight);
    const Input<Int64> wanted(target);
    check_indices(wanted, sizes, ignored, kIndexRule);
    dispatch_compute<kFloating>(input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const View incoming_view = expanded(grad_output, sizes.without);
        const Input<T> incoming(incoming_view.tensor());
        const Input<T> weights(weight);
        const Input<T> given_total(total_weight);
        const Output<T> result(grad_input);
        const auto weight_of = [&](int64_t c) { return static_cast<double>(weights ? weights[c] : T(1)); };
        double divisor = 1;
        if (reduction == ReductionMean && given_total) {
            divisor = given_total[0];
        } else if (reduction == ReductionMean) {
            divisor = 0;
            for (int64_t i = 0; i < sizes.count(); ++i) {
                divisor += wanted[i].value == ignored ? 0 : weight_of(wanted[i].value);
            }
        }
        parallel_for(sizes.count(), row_grain(sizes.classes), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                const int64_t first = sizes.first(i);
                for (int64_t c = 0; c < sizes.classes; ++c) {
                    result[first + c * sizes.places] = 0;
                }
                const int64_t at = wanted[i].value;
                if (at != ignored) {
                    result[first + at * sizes.places] = static_cast<T>(-weight_of(at) * incoming[i] / divisor);
                }
            }
        });
        result.store();
    });
}

}  // namespace

DIOPI_API diopiError_t diopiNLLLoss(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                    diopiConstTensorHandle_t input, diopiConstTensorHandle_t target,
                                    diopiConstTensorHandle_t weight, diopiReduction_t reduction, int64_t ignore_index) {
    return guarded("diopiNLLLoss", [&] {
        nll(tensor("out", out, kFloating), Tensor(), tensor("input", input, kFloating),
            tensor("target", target, kInt64), optional_tensor("weight", weight, kFloating), reduction, ignore_index);
    });
}

DIOPI_API diopiError_t diopiNLLLossV2(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                      diopiTensorHandle_t totalWeight, diopiConstTensorHandle_t input,
                                      diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                                      diopiReduction_t reduction, int64_t ignore_index) {
    return guarded("diopiNLLLossV2", [&] {
        nll(tensor("out", out, kFloating), tensor("totalWeight", totalWeight, kFloating),
            tensor("input", input, kFloating), tensor("target", target, kInt64),
            optional_tensor("weight", weight, kFloating), reduction, ignore_index);
    });
}

DIOPI_API diopiError_t diopiNLLLossBackward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t grad_input,
                                            diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                            diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                                            diopiReduction_t reduction, int64_t ignore_index) {
    return guarded("diopiNLLLossBackward", [&] {
        nll_backward(tensor("grad_input", grad_input, kFloating), tensor("grad_output", grad_output, kFloating),
                     tensor("input", input, kFloating), tensor("target", target, kInt64),
                     optional_tensor("weight", weight, kFloating), Tensor(), reduction, ignore_index);
    });
}

DIOPI_API diopiError_t diopiNLLLossV2Backward(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t grad_input,
                                              diopiConstTensorHandle_t grad_output, diopiConstTensorHandle_t input,
                                              diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                                              diopiConstTensorHandle_t totalWeight, diopiReduction_t reduction,
                                              int64_t ignore_index) {
    return guarded("diopiNLLLossV2Backward", [&] {
        nll_backward(tensor("grad_input", grad_input, kFloating), tensor("grad_output", grad_output, kFloating),
                     tensor("input", input, kFloating), tensor("target", target, kInt64),
                     optional_tensor("weight", weight, kFloating), tensor("totalWeight", totalWeight, kFloating),
                     reduction, ignore_index);
    });
}
