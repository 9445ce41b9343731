// FusedAdamW. What depends on the number of the step is computed on the device, so that nothing waits for it;
// all members of a list are updated by one launch.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "diopi_core/dense.h"
#include "diopi_cuda/elementwise.h"
#include "optimizer/optimizer_kernels.h"

namespace diopigen::cuda {

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

// Where the number of a member's step is. One in host memory is passed by value.
struct StepNumber {
    const void* data;
    Dtype dtype;
    double value;
};

// For each member two numbers as T.
template <typename T>
void find_corrections(T* found, const StepNumber* steps, int64_t count, const AdamWSettings& settings) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        const double step = steps[i].data == nullptr ? steps[i].value : load<double>(steps[i].data, steps[i].dtype);
        found[2 * i] = static_cast<T>(numeric::sqrt(1 - numeric::pow(settings.beta2, step)));
        found[2 * i + 1] = static_cast<T>(settings.lr / (1 - numeric::pow(settings.beta1, step)));
    });
}

// The corrections of all members in memory, float32 or float64.
class Corrections {
  public:
    Corrections(const std::vector<AdamWStep>& steps, Dtype dtype, const AdamWSettings& settings) : dtype_(dtype) {
        std::vector<StepNumber> numbers;
        for (const AdamWStep& operands : steps) {
            const bool is_on_host = operands.step.device == diopi_host;
            numbers.push_back({is_on_host ? nullptr : operands.step.data, operands.step.dtype,
                               is_on_host ? on_host(operands.step) : 0});
        }
        const auto count = static_cast<int64_t>(steps.size());
        const Buffer list = to_device(numbers);
        memory_.allocate(2 * count * size_of(dtype));
        dispatch<kFloat32 | kFloat64>(dtype, [&](auto sample) {
            using T = decltype(sample);
            find_corrections<T>(static_cast<T*>(memory_.data()), static_cast<const StepNumber*>(list.data()), count,
                                settings);
        });
    }
    // One number of a member.
    Tensor at(const Tensor& like, size_t member, int which) const {
        Tensor one = like;
        one.device = diopi_device;
        one.dtype = dtype_;
        one.rank = 0;
        one.numel = 1;
        one.data = static_cast<char*>(memory_.data()) + (2 * static_cast<int64_t>(member) + which) * size_of(dtype_);
        return one;
    }

  private:
    static double on_host(const Tensor& tensor) {
        double value = 0;
        dispatch<kAny>(tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            value = cast<double>(*tensor.elements<T>());
        });
        return value;
    }

    Dtype dtype_;
    Buffer memory_;
};

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

void take_steps(const std::vector<AdamWStep>& steps, const AdamWSettings& settings) {
    if (steps.empty()) {
        return;
    }
    const bool has_doubles = std::any_of(steps.begin(), steps.end(), [](const AdamWStep& operands) {
        return compute_of(operands.weight.dtype) == Dtype::kFloat64;
    });
    const cuda::Corrections singles(steps, Dtype::kFloat32, settings);
    std::optional<cuda::Corrections> doubles;
    if (has_doubles) {
        doubles.emplace(steps, Dtype::kFloat64, settings);
    }
    cuda::KernelList list;
    for (size_t k = 0; k < steps.size(); ++k) {
        const AdamWStep& operands = steps[k];
        const Dtype dtype = operands.weight.dtype;
        const cuda::Corrections& corrections = compute_of(dtype) == Dtype::kFloat64 ? *doubles : singles;
        const Tensor correction = corrections.at(operands.step, k, 0);
        const Tensor rate = corrections.at(operands.step, k, 1);
        cuda::KernelCall call(dtype);
        call.read(operands.weight);
        call.read(operands.gradient);
        call.read(operands.mean);
        call.read(operands.square);
        call.read(operands.largest);
        call.read(correction);
        call.read(rate);
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
        call.run(cuda::list_launches<cuda::StepLoop, kFloat32 | kFloat64>(), list);
    }
    list.launch();
}

}  // namespace diopigen::core
