// FusedAdamW: AdamW on a list of parameters, each with a step number of its own.
#include <diopi/functions.h>

#include <cmath>

#include "diopi_cpu/dense.h"
#include "diopi_cpu/elementwise.h"
#include "diopi_cpu/lists.h"

using namespace diopi::cpu;

namespace {

struct Step {
    template <typename T>
    static void run(const Block& block) {
        const T* param = block.input<T>(0);
        const T* grad = block.input<T>(1);
        const T* exp_avg = block.input<T>(2);
        const T* exp_avg_sq = block.input<T>(3);
        const T* max_exp_avg_sq = block.input<T>(4);
        T* param_out = block.output<T>(0);
        T* exp_avg_out = block.output<T>(1);
        T* exp_avg_sq_out = block.output<T>(2);
        T* max_exp_avg_sq_out = block.output<T>(3);
        const T survival = block.constant<T>(0);  // 1 - lr * weight_decay
        const T one = block.constant<T>(1);       // 1 - beta1
        const T beta2 = block.constant<T>(2);
        const T two = block.constant<T>(3);         // 1 - beta2
        const T correction = block.constant<T>(4);  // sqrt(1 - beta2 ** step)
        const T eps = block.constant<T>(5);
        const T rate = block.constant<T>(6);  // lr / (1 - beta1 ** step)
        const T direction = block.constant<T>(7);
        const bool amsgrad = block.flag(8);
        DIOPI_CPU_INDEPENDENT
        for (int64_t i = 0; i < block.count; ++i) {
            const T gradient = direction * grad[i];
            const T first = exp_avg[i] + one * (gradient - exp_avg[i]);
            const T second = beta2 * exp_avg_sq[i] + two * gradient * gradient;
            const T largest = amsgrad ? maximum(max_exp_avg_sq[i], second) : second;
            const T moved = rate * first / (std::sqrt(largest) / correction + eps);
            param_out[i] = param[i] * survival - moved;
            exp_avg_out[i] = first;
            exp_avg_sq_out[i] = second;
            max_exp_avg_sq_out[i] = largest;
        }
    }
};

}  // namespace

DIOPI_API diopiError_t diopiFusedAdamW(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t* params,
                                       diopiConstTensorHandle_t* grads, diopiTensorHandle_t* exp_avgs,
                                       diopiTensorHandle_t* exp_avg_sqs, diopiTensorHandle_t* max_exp_avg_sqs,
                                       diopiConstTensorHandle_t* state_steps, int64_t nums, double lr, double beta1,
                                       double beta2, double eps, double weight_decay, bool amsgrad, bool maximize) {
    return guarded("diopiFusedAdamW", [&] {
        const auto weights = tensor_list("params", params, "nums", nums, kFloating);
        const auto gradients = tensor_list("grads", grads, "nums", nums, kFloating);
        const auto means = tensor_list("exp_avgs", exp_avgs, "nums", nums, kFloating);
        const auto squares = tensor_list("exp_avg_sqs", exp_avg_sqs, "nums", nums, kFloating);
        const auto steps = tensor_list("state_steps", state_steps, "nums", nums, kFloat32 | kInt64);
        require(!amsgrad || max_exp_avg_sqs != nullptr || nums == 0,
                "parameter 'max_exp_avg_sqs' is null, but 'amsgrad' is true");
        require(beta1 >= 0 && beta1 < 1, "parameter 'beta1' is not in [0, 1)");
        require(beta2 >= 0 && beta2 < 1, "parameter 'beta2' is not in [0, 1)");
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
        for (const bool runs : {false, true}) {
            for (int64_t k = 0; k < nums; ++k) {
                const double step = Input<double>(steps[k])[0];
                Elementwise call(weights[k].dtype);
                call.read(weights[k]);
                call.read(gradients[k]);
                call.read(means[k]);
                call.read(squares[k]);
                call.read(largest[k]);
                call.constant(1 - lr * weight_decay);
                call.constant(1 - beta1);
                call.constant(beta2);
                call.constant(1 - beta2);
                call.constant(std::sqrt(1 - std::pow(beta2, step)));
                call.constant(eps);
                call.constant(lr / (1 - std::pow(beta1, step)));
                call.constant(maximize ? -1.0 : 1.0);
                call.constant(amsgrad);
                call.write(weights[k]);
                call.write(means[k]);
                call.write(squares[k]);
                call.write(largest[k]);
                if (runs) {
                    call.run(loops<Step, kFloat32 | kFloat64>());
                } else {
                    call.check();
                }
            }
        }
    });
}
