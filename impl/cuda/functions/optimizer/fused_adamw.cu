// FusedAdamW. What depends on the number of the step is computed on the device, so that nothing waits for it.
#include <cmath>

#include "diopi_core/dense.h"
#include "diopi_cuda/elementwise.h"
#include "optimizer/kernels.h"

namespace diopi::cuda {

namespace {

struct StepLoop {
    static constexpr Signature kSignature{"eeeeeee>eeee"};
    template <typename T>
    DIOPI_DEVICE static void run(Item& item) {
        const auto param = item.input<T>(0);
        const T gradient = item.constant<T>(5) * item.input<T>(1);
        const auto exp_avg = item.input<T>(2);
        const auto correction = item.input<T>(5);  // sqrt(1 - beta2 ** step)
        const auto rate = item.input<T>(6);        // lr / (1 - beta1 ** step)
        const T first = exp_avg + item.constant<T>(1) * (gradient - exp_avg);
        const T second = item.constant<T>(2) * item.input<T>(3) + item.constant<T>(3) * gradient * gradient;
        const T largest = item.flag(6) ? maximum(item.input<T>(4), second) : second;
        const T moved = rate * first / (numeric::sqrt(largest) / correction + item.constant<T>(4));
        item.output<T>(0) = param * item.constant<T>(0) - moved;
        item.output<T>(1) = first;
        item.output<T>(2) = second;
        item.output<T>(3) = largest;
    }
};

template <typename T>
void find_corrections(T* found, const double* step, const AdamWSettings& settings) {
    for_each(1, [=] DIOPI_KERNEL(int64_t) {
        found[0] = static_cast<T>(numeric::sqrt(1 - numeric::pow(settings.beta2, *step)));
        found[1] = static_cast<T>(settings.lr / (1 - numeric::pow(settings.beta1, *step)));
    });
}

}  // namespace

}  // namespace diopi::cuda

namespace diopi::core {

void take_step(const AdamWStep& operands, const AdamWSettings& settings) {
    const Dtype dtype = operands.weight.dtype;
    Buffer found;
    Tensor one = operands.step;
    one.device = diopi_device;
    one.dtype = compute_of(dtype);
    const Input<double> step(operands.step);
    found.allocate(2 * size_of(one.dtype));
    dispatch_compute<kFloating>(dtype, [&](auto sample) {
        using T = decltype(sample);
        cuda::find_corrections<T>(static_cast<T*>(found.data()), step.data(), settings);
    });
    one.data = found.data();
    const View correction(one, {}, {});
    const View rate(one, {}, {}, 1);
    cuda::KernelCall call(dtype);
    call.read(operands.weight);
    call.read(operands.gradient);
    call.read(operands.mean);
    call.read(operands.square);
    call.read(operands.largest);
    call.read(correction.tensor());
    call.read(rate.tensor());
    call.constant(1 - settings.lr * settings.weight_decay);
    call.constant(1 - settings.beta1);
    call.constant(settings.beta2);
    call.constant(1 - settings.beta2);
    call.constant(settings.eps);
    call.constant(settings.maximize ? -1.0 : 1.0);
    call.constant(settings.amsgrad);
    call.write(operands.weight);
    call.write(operands.mean);
    call.write(operands.square);
    call.write(operands.largest);
    call.run(cuda::launches<cuda::StepLoop, kFloat32 | kFloat64>());
}

}  // namespace diopi::core
