// FusedAdamW: AdamW on a list of parameters, each with a step number of its own.
#include <diopi/functions.h>

#include "diopi_cpu/lists.h"
#include "kernels.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiFusedAdamW(diopiContextHandle_t ctx, diopiTensorHandle_t* params,
                                       diopiConstTensorHandle_t* grads, diopiTensorHandle_t* exp_avgs,
                                       diopiTensorHandle_t* exp_avg_sqs, diopiTensorHandle_t* max_exp_avg_sqs,
                                       diopiConstTensorHandle_t* state_steps, int64_t nums, double lr, double beta1,
                                       double beta2, double eps, double weight_decay, bool amsgrad, bool maximize) {
    return guarded("diopiFusedAdamW", ctx, [&] {
        const auto weights = tensor_list("params", params, "nums", nums, kFloating);
        const auto gradients = tensor_list("grads", grads, "nums", nums, kFloating);
        const auto means = tensor_list("exp_avgs", exp_avgs, "nums", nums, kFloating);
        const auto squares = tensor_list("exp_avg_sqs", exp_avg_sqs, "nums", nums, kFloating);
        const auto steps = tensor_list("state_steps", state_steps, "nums", nums, kFloat32 | kInt64);
        require(!amsgrad || max_exp_avg_sqs != nullptr || nums == 0,
                "C1: max_exp_avg_sqs is given when amsgrad is true");
        require(beta1 >= 0 && beta1 < 1 && beta2 >= 0 && beta2 < 1, "C2: beta1 and beta2 are at least 0 and below 1");
        const auto largest = amsgrad ? tensor_list("max_exp_avg_sqs", max_exp_avg_sqs, "nums", nums, kFloating)
                                     : std::vector<Tensor>(static_cast<size_t>(nums));
        std::vector<Tensor> written;
        for (int64_t k = 0; k < nums; ++k) {
            for (const Tensor* other : {&gradients[k], &means[k], &squares[k], &largest[k]}) {
                if (!other->is_null()) {
                    require_same_dtype(*other, weights[k]);
                    require_same_shape(*other, weights[k]);
                }
            }
            require_shape(steps[k], std::initializer_list<int64_t>{});
            for (const Tensor* output : {&weights[k], &means[k], &squares[k], &largest[k]}) {
                if (!output->is_null()) {
                    written.push_back(*output);
                }
            }
        }
        require_apart(written);
        for (const Tensor& output : written) {
            for (const Tensor& step : steps) {
                require_disjoint(output, step);
            }
        }
        const AdamWSettings settings{lr, beta1, beta2, eps, weight_decay, amsgrad, maximize};
        for (const bool runs : {false, true}) {
            for (int64_t k = 0; k < nums; ++k) {
                const AdamWStep step{weights[k], gradients[k], means[k], squares[k], largest[k], steps[k]};
                take_step(step, settings, runs);
            }
        }
    });
}
