// Random numbers.
#include <ATen/Dispatch.h>
#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <diopigen_torch/call.h>
#include <diopigen_torch/compose.h>
#include <diopigen_torch/forms.h>

#include <limits>
#include <numbers>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

using Generator = std::optional<at::Generator>;

void require_floating_numbers(const at::Tensor& tensor, Dtypes dtypes = kFloating) {
    if (!is_in(dtypes, tensor.scalar_type())) {
        fall_back("a distribution of floating numbers");
    }
}

// Returns whether an integer is in the range of a dtype, which need not hold it exactly.
bool is_in_range(at::ScalarType type, int64_t value) {
    return AT_DISPATCH_ALL_TYPES_AND3(at::kBool, at::kHalf, at::kBFloat16, type, "is_in_range", [&] {
        using Limits = std::numeric_limits<scalar_t>;
        const auto number = static_cast<double>(value);
        return static_cast<double>(Limits::lowest()) <= number && number <= static_cast<double>(Limits::max());
    });
}

at::Tensor& fill_integers(at::Tensor& self, int64_t from, std::optional<int64_t> to, const Generator& generator) {
    at::assert_no_internal_overlap(self);
    const at::ScalarType type = self.scalar_type();
    // PyTorch rejects bounds that are out of range.
    if (!is_in(kNumber | kBool, type) || !is_in_range(type, from) || (to.has_value() && !is_in_range(type, *to - 1))) {
        fall_back("integers of this dtype");
    }
    if (self.numel() != 0) {
        Call call(self);
        call("diopiRandomInp", diopiRandomInp, Output(self), from, Optional<int64_t>(to), call.generator(generator));
    }
    return self;
}

// Numbers from 0 up to but without 1, in the dtype to compute in.
at::Tensor fractions(const at::Tensor& like, const Generator& generator) {
    const at::ScalarType type = like.is_floating_point() ? wide(like.scalar_type()) : at::kFloat;
    return at::empty_like(like, like.options().dtype(type)).uniform_(0, 1, generator);
}

void require_deviations(const at::Tensor& std) {
    TORCH_CHECK(!std.is_complex(), "normal expects standard deviation to be non-complex");
    TORCH_CHECK(std.numel() == 0 || std.min().item().toDouble() >= 0, "normal expects all elements of std >= 0.0");
}

void require_deviation(double std) { TORCH_CHECK(std >= 0.0, "normal expects std >= 0.0, but found std ", std); }

bool can_draw(const at::Tensor& weights, int64_t count, bool replacement) {
    return is_in(kFloating, weights.scalar_type()) && (weights.dim() == 1 || weights.dim() == 2) && count > 0 &&
           weights.size(-1) > 0 && weights.size(-1) <= (int64_t{1} << 24) && (replacement || count <= weights.size(-1));
}

}  // namespace

at::Tensor& randperm_generator_out(int64_t n, Generator generator, at::Tensor& out) {
    TORCH_CHECK(n >= 0, "n must be non-negative, got", n);
    at::native::check_supported_max_int_with_precision(n, out);
    out.resize_({n});
    if (!is_in(kNumber, out.scalar_type())) {
        fall_back("an order of this dtype");
    }
    Call call(out);
    call("diopiRandperm", diopiRandperm, Output(out), n, call.generator(generator));
    return out;
}

at::Tensor& random_inplace(at::Tensor& self, Generator generator) { return fill_integers(self, 0, {}, generator); }

at::Tensor& random_inplace_from(at::Tensor& self, int64_t from, std::optional<int64_t> to, Generator generator) {
    TORCH_CHECK(!to.has_value() || from < *to, "random_ expects 'from' to be less than 'to', but got from=", from,
                " >= to=", to.value_or(0));
    return fill_integers(self, from, to, generator);
}

at::Tensor& random_inplace_to(at::Tensor& self, int64_t to, Generator generator) {
    return random_inplace_from(self, 0, to, generator);
}

at::Tensor& uniform_inplace(at::Tensor& self, double from, double to, Generator generator) {
    at::assert_no_internal_overlap(self);
    require_floating_numbers(self);
    TORCH_CHECK(from <= to, "uniform_ expects to return a [from, to) range, but found from=", from, " > to=", to);
    if (!std::isfinite(to - from) || std::abs(from) > 65504 || std::abs(to) > 65504) {
        fall_back("bounds that not every dtype holds");
    }
    Call call(self);
    call("diopiUniformInp", diopiUniformInp, Output(self), from, to, call.generator(generator));
    return self;
}

at::Tensor& normal_inplace(at::Tensor& self, double mean, double std, Generator generator) {
    require_deviation(std);
    require_floating_numbers(self, kFloating | kComplex);
    at::assert_no_internal_overlap(self);
    Call call(self);
    call("diopiNormalInp", diopiNormalInp, Output(self), mean, std, call.generator(generator));
    return self;
}

at::Tensor& normal_tensor_tensor(const at::Tensor& mean, const at::Tensor& std, Generator generator, at::Tensor& out) {
    require_deviations(std);
    const at::ScalarType type = mean.scalar_type();
    Call call(mean);
    const Input centre(call, mean, type, kFloating);
    const Input width(call, std, type);
    make_or_resize(out, at::infer_size(mean.sizes(), std.sizes()), mean.options());
    Output written(out, type);
    call("diopiNormalTensor", diopiNormalTensor, written, centre, width, call.generator(generator));
    written.finish();
    return out;
}

at::Tensor& normal_tensor_float(const at::Tensor& mean, double std, Generator generator, at::Tensor& out) {
    require_deviation(std);
    Call call(mean);
    const Input centre(call, mean, kFloating);
    make_or_resize(out, mean.sizes(), mean.options());
    Output written(out, mean.scalar_type());
    call("diopiNormalTensorScalar", diopiNormalTensorScalar, written, centre, std, call.generator(generator));
    written.finish();
    return out;
}

at::Tensor& normal_float_tensor(double mean, const at::Tensor& std, Generator generator, at::Tensor& out) {
    require_deviations(std);
    Call call(std);
    const Input width(call, std, kFloating);
    make_or_resize(out, std.sizes(), std.options());
    Output written(out, std.scalar_type());
    call("diopiNormalScalarTensor", diopiNormalScalarTensor, written, mean, width, call.generator(generator));
    written.finish();
    return out;
}

at::Tensor& bernoulli_inplace_tensor(at::Tensor& self, const at::Tensor& p, Generator generator) {
    at::assert_no_internal_overlap(self);
    if (!is_in(kFloating, p.scalar_type()) || self.is_complex()) {
        fall_back("probabilities of this dtype");
    }
    const at::Tensor chances = operand(self, p, p.scalar_type()).expand(self.sizes());
    Call call(self);
    Output written(self, chances.scalar_type());
    call("diopiBernoulli", diopiBernoulli, written, Input(call, chances), call.generator(generator));
    written.finish();
    return self;
}

at::Tensor& bernoulli(const at::Tensor& self, Generator generator, at::Tensor& out) {
    require_floating_numbers(self);
    at::native::resize_output(out, self.sizes());
    return bernoulli_inplace_tensor(out, self, generator);
}

at::Tensor& bernoulli_inplace_float(at::Tensor& self, double p, Generator generator) {
    TORCH_CHECK(0 <= p && p <= 1, "bernoulli_ expects p to be in [0, 1], but got p=", p);
    at::assert_no_internal_overlap(self);
    if (!is_in(kNumber | kBool, self.scalar_type())) {
        fall_back("draws of this dtype");
    }
    Call call(self);
    call("diopiBernoulliScalar", diopiBernoulliScalar, Output(self), p, call.generator(generator));
    return self;
}

at::Tensor& multinomial(const at::Tensor& self, int64_t num_samples, bool replacement, Generator generator,
                        at::Tensor& out) {
    if (!can_draw(self, num_samples, replacement) || (out.defined() && out.scalar_type() != at::kLong)) {
        fall_back("PyTorch rejects this");
    }
    const bool is_batch = self.dim() == 2;
    make_or_resize(out, is_batch ? at::DimVector{self.size(0), num_samples} : at::DimVector{num_samples},
                   self.options().dtype(at::kLong));
    if (out.numel() != 0) {
        Call call(self);
        call("diopiMultinomial", diopiMultinomial, Output(out), Input(call, self), num_samples, replacement,
             call.generator(generator));
    }
    return out;
}

at::Tensor& log_normal_inplace(at::Tensor& self, double mean, double std, Generator generator) {
    TORCH_CHECK(std > 0.0, "log_normal_ expects std > 0.0, but found std=", std);
    require_floating_numbers(self);
    put(self,
        at::empty_like(self, self.options().dtype(wide(self.scalar_type()))).normal_(mean, std, generator).exp_());
    return self;
}

at::Tensor& exponential_inplace(at::Tensor& self, double lambd, Generator generator) {
    TORCH_CHECK(lambd > 0.0, "exponential_ expects lambda > 0.0, but found lambda=", lambd);
    require_floating_numbers(self);
    // Never zero, as PyTorch promises: others divide by these numbers.
    const double least = -std::numeric_limits<float>::epsilon() / 2;
    put(self, fractions(self, generator).neg().log1p().clamp_max(least).mul(-1.0 / lambd));
    return self;
}

at::Tensor& geometric_inplace(at::Tensor& self, double p, Generator generator) {
    TORCH_CHECK(0 < p && p < 1, "geometric_ expects p to be in (0, 1), but got p=", p);
    if (!is_in(kNumber, self.scalar_type())) {
        fall_back("counts of this dtype");
    }
    put(self, fractions(self, generator).neg().log1p().div(std::log1p(-p)).ceil().clamp_min(1));
    return self;
}

at::Tensor& cauchy_inplace(at::Tensor& self, double median, double sigma, Generator generator) {
    TORCH_CHECK(sigma > 0.0, "cauchy_ expects sigma > 0.0, but found sigma=", sigma);
    require_floating_numbers(self);
    put(self, fractions(self, generator).sub(0.5).mul(std::numbers::pi).tan().mul(sigma).add(median));
    return self;
}

}  // namespace diopigen::backend::kernels
