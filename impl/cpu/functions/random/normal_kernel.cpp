// Normal samples by Box and Muller's method.
#include "random/random_kernels.h"
#include "random/sample.h"

namespace diopigen::core {

void sample_normal_numbers(const Tensor& target, double mean, double std, diopiGeneratorHandle_t generator) {
    if (is_complex(target.dtype)) {
        const double part = std / std::sqrt(2.0);
        fill_random<Complex128>(target, generator, [=](int64_t, const RandomBits& bits) {
            return Complex128(mean, 0) + part * normal_pair(bits);
        });
    } else {
        fill_random<double>(target, generator,
                            [=](int64_t, const RandomBits& bits) { return mean + std * normal(bits); });
    }
}

void sample_normal_elements(const Tensor& out, const Tensor& means_tensor, const Tensor& deviations_tensor, double mean,
                            double std, diopiGeneratorHandle_t generator, const char* deviation_rule) {
    const Input<double> means(means_tensor);
    const Input<double> deviations(deviations_tensor);
    require(!deviations || holds_of_all(deviations.data(), out.numel, [](double own) { return own >= 0; }),
            deviation_rule);
    require(std >= 0, deviation_rule);
    fill_random<double>(out, generator, [&](int64_t i, const RandomBits& bits) {
        const double middle = means ? means[i] : mean;
        return middle + (deviations ? deviations[i] : std) * normal(bits);
    });
}

}  // namespace diopigen::core
