#include <cmath>

#include "diopi_core/dense.h"
#include "diopi_core/elementwise.h"
#include "optimizer/optimizer_kernels.h"

namespace diopigen::core {

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

void take_step(const AdamWStep& operands, const AdamWSettings& settings) {
    const double step = Input<double>(operands.step)[0];
    Elementwise call(operands.weight.dtype);
    call.read(operands.weight);
    call.read(operands.gradient);
    call.read(operands.mean);
    call.read(operands.square);
    call.read(operands.largest);
    call.constant(1 - settings.lr * settings.weight_decay);
    call.constant(1 - settings.beta1);
    call.constant(settings.beta2);
    call.constant(1 - settings.beta2);
    call.constant(std::sqrt(1 - std::pow(settings.beta2, step)));
    call.constant(settings.eps);
    call.constant(settings.lr / (1 - std::pow(settings.beta1, step)));
    call.constant(settings.maximize ? -1.0 : 1.0);
    call.constant(settings.amsgrad);
    call.write(operands.weight);
    call.write(operands.mean);
    call.write(operands.square);
    call.write(operands.largest);
    call.run(loops<Step, kFloat32 | kFloat64>());
}

}  // namespace

void take_steps(const std::vector<AdamWStep>& steps, const AdamWSettings& settings) {
    for (const AdamWStep& step : steps) {
        take_step(step, settings);
    }
}

}  // namespace diopigen::core
