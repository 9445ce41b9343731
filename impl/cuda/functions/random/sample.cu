// Random numbers: element i, in row-major order, by a thread of its own from the bits of Philox for (i, offset). So
// they are those of the CPU library.
#include "diopi_core/dense.h"
#include "diopi_core/math.h"
#include "diopi_core/raw_elements.h"
#include "diopi_cuda/operand.h"
#include "generator.h"
#include "random/random_kernels.h"

namespace diopigen::cuda {

namespace {

// Fills `target` with make(i, bits) of type V.
template <typename V, typename Make>
void fill_random(const Tensor& target, const RandomNumbers& random, const Make& make) {
    require_on_device(target);
    if (target.numel == 0) {
        return;
    }
    const Tensor* tensors[] = {&target};
    Operand operand;
    const Dims dims = walk(target, tensors, &operand, 1);
    for_each(target.numel,
             [=] DIOPI_KERNEL(int64_t i) { store<V>(operand.at(dims, i), operand.dtype, make(i, random(i))); });
}

struct Coin {
    double chance;
    const double* chances;  // in place of it
    DIOPI_DEVICE Bool operator()(int64_t i, const RandomBits& bits) const {
        return Bool(unit(bits, 0) < (chances != nullptr ? chances[i] : chance));
    }
};

struct KeepMask {
    double p;
    DIOPI_DEVICE Bool operator()(int64_t, const RandomBits& bits) const { return Bool(unit(bits, 0) >= p); }
};

struct UniformInteger {
    int64_t from;
    uint64_t range;
    DIOPI_DEVICE Int64 operator()(int64_t, const RandomBits& bits) const {
        return Int64(static_cast<int64_t>(static_cast<uint64_t>(from) + below(range, bits, 0)));
    }
};

struct Uniform {
    double from;
    double to;
    double last;  // none is above it
    DIOPI_DEVICE double operator()(int64_t, const RandomBits& bits) const {
        const double number = from + (to - from) * unit(bits, 0);
        return number < last ? number : last;
    }
};

struct Normal {
    double mean;
    double std;
    const double* means;       // in place of the numbers
    const double* deviations;  // in place of the numbers
    DIOPI_DEVICE double operator()(int64_t i, const RandomBits& bits) const {
        return (means != nullptr ? means[i] : mean) + (deviations != nullptr ? deviations[i] : std) * normal(bits);
    }
};

struct NormalPair {
    double mean;
    double part;
    DIOPI_DEVICE Complex128 operator()(int64_t, const RandomBits& bits) const {
        return Complex128(mean, 0) + part * normal_pair(bits);
    }
};

void look_outside(const Finding& found, const double* values, int64_t count, double least, double most) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        if (!(values[i] >= least && values[i] <= most)) {
            found();
        }
    });
}

void require_within(const double* values, int64_t count, double least, double most, const char* rule) {
    const Check check(rule);
    look_outside(check.finding(), values, count, least, most);
    check.conclude();
}

template <typename T>
void keep(T* y, const T* x, const Uint8* keep_mask, double scale, int64_t count) {
    for_each(count, [=] DIOPI_KERNEL(int64_t i) {
        y[i] = keep_mask[i].value != 0 ? static_cast<T>(static_cast<double>(x[i]) * scale) : T(0);
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

using cuda::RandomNumbers;

void sample_bernoulli(const Tensor& out, const Tensor& chances, diopiGeneratorHandle_t generator, const char* rule) {
    const Input<double> chance(chances);
    cuda::require_within(chance.data(), chances.numel, 0, 1, rule);
    cuda::fill_random<Bool>(out, RandomNumbers::of(generator), cuda::Coin{0, chance.data()});
}

void sample_bernoulli(const Tensor& target, double p, diopiGeneratorHandle_t generator) {
    cuda::fill_random<Bool>(target, RandomNumbers::of(generator), cuda::Coin{p, nullptr});
}

void sample_integers(const Tensor& target, int64_t from, uint64_t range, diopiGeneratorHandle_t generator) {
    cuda::fill_random<Int64>(target, RandomNumbers::of(generator), cuda::UniformInteger{from, range});
}

void sample_uniform(const Tensor& target, double from, double to, double last, diopiGeneratorHandle_t generator) {
    cuda::fill_random<double>(target, RandomNumbers::of(generator), cuda::Uniform{from, to, last});
}

void sample_normal_numbers(const Tensor& target, double mean, double std, diopiGeneratorHandle_t generator) {
    if (is_complex(target.dtype)) {
        cuda::fill_random<Complex128>(target, RandomNumbers::of(generator),
                                      cuda::NormalPair{mean, std / std::sqrt(2.0)});
    } else {
        cuda::fill_random<double>(target, RandomNumbers::of(generator), cuda::Normal{mean, std, nullptr, nullptr});
    }
}

void sample_normal_elements(const Tensor& out, const Tensor& means_tensor, const Tensor& deviations_tensor, double mean,
                            double std, diopiGeneratorHandle_t generator, const char* deviation_rule) {
    const Input<double> means(means_tensor);
    const Input<double> deviations(deviations_tensor);
    if (deviations) {
        cuda::require_within(deviations.data(), out.numel, 0, std::numeric_limits<double>::infinity(), deviation_rule);
    }
    require(std >= 0, deviation_rule);
    cuda::fill_random<double>(out, RandomNumbers::of(generator),
                              cuda::Normal{mean, std, means.data(), deviations.data()});
}

void drop_out(const Tensor& out, const Tensor& mask, const Tensor& input, double p, bool train,
              diopiGeneratorHandle_t generator) {
    if (train) {
        cuda::fill_random<Bool>(mask, RandomNumbers::of(generator), cuda::KeepMask{p});
    } else {
        fill(mask, Number::of(true));
    }
    // What was sampled is 0 or 1.
    Tensor bytes = mask;
    bytes.dtype = Dtype::kUint8;
    const View spread = expanded(bytes, shape_of(input));
    const Input<Uint8> keep_mask(spread.tensor());
    const double scale = train && p < 1 ? 1 / (1 - p) : 1;
    dispatch_compute<kFloating>(input.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input);
        const Output<T> y(out);
        cuda::keep<T>(y.data(), x.data(), keep_mask.data(), scale, input.numel);
        y.store();
    });
}

}  // namespace diopigen::core
