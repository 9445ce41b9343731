// NLLLoss and CrossEntropyLoss: sums in double. The mean over class indices divides by the weights of the samples that
// count; over class probabilities, by the number of samples.
#include <diopi/functions.h>

#include <cmath>

#include "classes.h"
#include "diopi_cpu/dense.h"

using namespace diopi::cpu;

namespace {

void check_output(const Tensor& out, const Tensor& input, const Tensor& target, const Tensor& weight,
                  const Classes& sizes, diopiReduction_t reduction) {
    check_reduction(reduction);
    require_same_dtype(out, input);
    require_same_dtype(weight, input);
    require_shape(weight, {sizes.classes});
    require_shape(out, reduction == ReductionNone ? sizes.without : std::vector<int64_t>());
    require_one_device({&input, &out, &target, &weight});
    require_no_overlap(out);
    for (const Tensor* operand : {&input, &target, &weight}) {
        require_disjoint(out, *operand);
    }
}

// Reads class indices and checks them.
void check_indices(const Input<Int64>& target, const Classes& sizes, int64_t ignored, const char* message) {
    for (int64_t i = 0; i < sizes.count(); ++i) {
        const int64_t wanted = target[i].value;
        require(wanted == ignored || (wanted >= 0 && wanted < sizes.classes), message);
    }
}

// Collects losses into the output.
template <typename T>
class Reduced {
  public:
    Reduced(const Tensor& out, diopiReduction_t reduction) : result_(out), reduction_(reduction) {}
    // A loss with the share that it has in the mean's divisor.
    void add(int64_t at, double loss, double share) {
        if (reduction_ == ReductionNone) {
            result_[at] = static_cast<T>(loss);
        }
        sum_ += loss;
        divisor_ += share;
    }
    void store() {
        if (reduction_ != ReductionNone) {
            result_[0] = static_cast<T>(reduction_ == ReductionMean ? sum_ / divisor_ : sum_);
        }
        result_.store();
    }

  private:
    Output<T> result_;
    diopiReduction_t reduction_;
    double sum_ = 0;
    double divisor_ = 0;
};

}  // namespace

DIOPI_API diopiError_t diopiNLLLoss(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                    diopiConstTensorHandle_t input, diopiConstTensorHandle_t target,
                                    diopiConstTensorHandle_t weight, diopiReduction_t reduction, int64_t ignore_index) {
    return guarded("diopiNLLLoss", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor target_tensor = tensor("target", target, kInt64);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        const Classes sizes = classes_of(input_tensor);
        require(shape_of(target_tensor) == sizes.without,
                "C1: the shape of target is that of input without its class dimension");
        check_output(out_tensor, input_tensor, target_tensor, weight_tensor, sizes, reduction);
        const Input<Int64> wanted(target_tensor);
        check_indices(wanted, sizes, ignore_index,
                      "C2: every class index is ignore_index, or at least 0 and below the number of classes");
        dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> scores(input_tensor);
            const Input<T> weights(weight_tensor);
            Reduced<T> result(out_tensor, reduction);
            for (int64_t i = 0; i < sizes.count(); ++i) {
                const int64_t at = wanted[i].value;
                if (at == ignore_index) {
                    result.add(i, 0, 0);
                } else {
                    const double share = weights ? weights[at] : T(1);
                    result.add(i, -share * scores[sizes.first(i) + at * sizes.places], share);
                }
            }
            result.store();
        });
    });
}

DIOPI_API diopiError_t diopiCrossEntropyLoss(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                             diopiConstTensorHandle_t input, diopiConstTensorHandle_t target,
                                             diopiConstTensorHandle_t weight, diopiReduction_t reduction,
                                             int64_t ignore_index, double label_smoothing) {
    return guarded("diopiCrossEntropyLoss", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor target_tensor = tensor("target", target, kInt64 | kFloating);
        const Tensor weight_tensor = optional_tensor("weight", weight, kFloating);
        const Classes sizes = classes_of(input_tensor);
        const bool has_indices = target_tensor.dtype == Dtype::kInt64;
        require(label_smoothing >= 0 && label_smoothing <= 1, "C1: label_smoothing lies between 0 and 1");
        require(is_same_shape(target_tensor, input_tensor) || shape_of(target_tensor) == sizes.without,
                "C2: the shape of target is that of input, or that of input without its class dimension");
        if (has_indices) {
            require_shape(target_tensor, sizes.without);
        } else {
            require(is_same_shape(target_tensor, input_tensor) && target_tensor.dtype == input_tensor.dtype,
                    "C3: class probabilities have the dtype and shape of input");
            require(ignore_index < 0, "C4: ignore_index is negative for class probabilities");
        }
        check_output(out_tensor, input_tensor, target_tensor, weight_tensor, sizes, reduction);
        const Input<Int64> wanted(has_indices ? target_tensor : Tensor());
        if (has_indices) {
            check_indices(wanted, sizes, ignore_index,
                          "C5: every class index is ignore_index, or at least 0 and below the number of classes");
        }
        dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> logits(input_tensor);
            const Input<T> weights(weight_tensor);
            const Input<T> probabilities(has_indices ? Tensor() : target_tensor);
            Reduced<T> result(out_tensor, reduction);
            const double spread = label_smoothing / static_cast<double>(sizes.classes);
            for (int64_t i = 0; i < sizes.count(); ++i) {
                const int64_t first = sizes.first(i);
                if (has_indices && wanted[i].value == ignore_index) {
                    result.add(i, 0, 0);
                    continue;
                }
                double top = -HUGE_VAL;
                for (int64_t c = 0; c < sizes.classes; ++c) {
                    const double logit = logits[first + c * sizes.places];
                    top = logit > top || std::isnan(logit) ? logit : top;
                }
                double sum = 0;
                for (int64_t c = 0; c < sizes.classes; ++c) {
                    sum += std::exp(logits[first + c * sizes.places] - top);
                }
                const double normaliser = top + std::log(sum);
                double loss = 0;
                for (int64_t c = 0; c < sizes.classes; ++c) {
                    const double own = has_indices ? (wanted[i].value == c ? 1.0 : 0.0)
                                                   : static_cast<double>(probabilities[first + c * sizes.places]);
                    const double share = (1 - label_smoothing) * own + spread;
                    // Classes that do not count are left out, so that a logit of -inf there does no harm.
                    if (share != 0) {
                        const double log_probability = logits[first + c * sizes.places] - normaliser;
                        loss -= share * (weights ? weights[c] : T(1)) * log_probability;
                    }
                }
                const double divisor = has_indices && weights ? weights[wanted[i].value] : T(1);
                result.add(i, loss, divisor);
            }
            result.store();
        });
    });
}
