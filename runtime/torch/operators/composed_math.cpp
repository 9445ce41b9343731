// Mathematical functions of elements that compose operators of the device.
#include <ATen/Dispatch.h>
#include <ATen/ScalarOps.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/tensor.h>
#include <diopigen_torch/call.h>
#include <diopigen_torch/compose.h>
#include <diopigen_torch/iterate.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

// To the nearest integer, halves to the even one.
at::Tensor rounded(const at::Tensor& tensor) {
    const at::Tensor below = tensor.floor();
    const at::Tensor rest = tensor.sub(below);
    const at::Tensor above = below.add(1);
    const at::Tensor half = below.mul(0.5);
    const at::Tensor even = select(half.eq(half.floor()), below, above);
    return select(rest.lt(0.5), below, select(rest.gt(0.5), above, even));
}

void require_real(at::ScalarType type) {
    if (at::isComplexType(type)) {
        fall_back("complex numbers");
    }
}

double largest_finite(at::ScalarType type) {
    return AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, type, "nan_to_num",
                                           [] { return static_cast<double>(std::numeric_limits<scalar_t>::max()); });
}

void fill_angle(at::Tensor& out, at::ScalarType type, const at::Tensor& self) {
    const at::Tensor number = operand(out, self, type);
    const at::Tensor angle = number.lt(0).to(wide(type)).mul(std::numbers::pi);
    put(out, select(number.isnan(), number, angle));
}

// The larger or the smaller of two numbers; of a number and NaN, the number.
void fill_extreme(at::Tensor& out, at::ScalarType type, const at::Tensor& self, const at::Tensor& other, bool larger) {
    const at::Tensor first = operand(out, self, type);
    const at::Tensor second = operand(out, other, type);
    const at::Tensor selected = larger ? first.maximum(second) : first.minimum(second);
    put(out, select(first.isnan(), second, select(second.isnan(), first, selected)));
}

// Powers of two as the bits of an integer: the highest one is negative where there is a sign.
at::Tensor powers_of_two(const at::Tensor& like, int64_t bits) {
    std::vector<int64_t> powers;
    for (int64_t bit = 0; bit < bits; ++bit) {
        powers.push_back(static_cast<int64_t>(uint64_t{1} << bit));
    }
    return at::tensor(powers, at::kLong).to(at::kCPU, like.scalar_type()).to(like.device());
}

at::Tensor look_up(const at::Tensor& table, const at::Tensor& position, int64_t last) {
    return table.index_select(0, position.clamp(0, last).to(at::kLong).reshape({-1})).reshape(position.sizes());
}

int64_t bits_of(at::ScalarType type) {
    if (!is_in(kIntegral, type)) {
        fall_back("shifts are of integers");
    }
    return static_cast<int64_t>(at::elementSize(type)) * 8;
}

at::Tensor shifted_left(const at::Tensor& number, const at::Tensor& shift) {
    const int64_t bits = bits_of(number.scalar_type());
    const at::Tensor factor = look_up(powers_of_two(number, bits), shift, bits - 1);
    return number.mul(factor).masked_fill(shift.lt(0).logical_or(shift.ge(bits)), 0);
}

at::Tensor shifted_right(const at::Tensor& number, const at::Tensor& shift) {
    const int64_t bits = bits_of(number.scalar_type());
    // The highest power of two of a signed integer is negative: shifting that far leaves the sign alone.
    const int64_t last = number.scalar_type() == at::kByte ? bits - 1 : bits - 2;
    const at::Tensor divisor = look_up(powers_of_two(number, bits), shift, last);
    const at::Tensor sign = number.lt(0).to(number.scalar_type()).neg();
    return select(shift.lt(0).logical_or(shift.gt(last)), sign, number.div(divisor, "floor"));
}

using Shift = at::Tensor (*)(const at::Tensor&, const at::Tensor&);

void fill_shifted(at::Tensor& out, at::ScalarType type, const at::Tensor& self, const at::Tensor& other, Shift shift) {
    put(out, shift(operand(out, self, type), operand(out, other, type)));
}

at::Tensor new_shifted(const at::Tensor& self, const at::Tensor& other, Shift shift) {
    const at::TensorIterator shaped = iterate({}, {&self, &other});
    at::Tensor out = shaped.output();
    fill_shifted(out, shaped.common_dtype(), self, other, shift);
    return out;
}

}  // namespace

void trunc(at::Tensor& out, at::ScalarType type, const at::Tensor& self) {
    put(out, at::isFloatingType(type) ? truncated(operand(out, self, type)) : self);
}

void frac(at::Tensor& out, at::ScalarType type, const at::Tensor& self) {
    require_floating(type);
    const at::Tensor number = operand(out, self, type);
    put(out, number.sub(truncated(number)));
}

void round(at::Tensor& out, at::ScalarType type, const at::Tensor& self) {
    require_real(type);
    put(out, at::isFloatingType(type) ? rounded(operand(out, self, type)) : self);
}

void round_decimals(at::Tensor& out, at::ScalarType type, const at::Tensor& self, int64_t decimals) {
    require_floating(type);
    const at::Tensor number = operand(out, self, type);
    const double power = std::pow(10.0, static_cast<double>(std::abs(decimals)));
    put(out, decimals < 0 ? rounded(number.div(power)).mul(power) : rounded(number.mul(power)).div(power));
}

at::Tensor& nan_to_num(const at::Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                       std::optional<double> neginf, at::Tensor& out) {
    TORCH_CHECK(self.scalar_type() == out.scalar_type(), "nan_to_num: dtype of out: ", out.scalar_type(),
                " should be same as input: ", self.scalar_type());
    require_real(self.scalar_type());
    if (at::isIntegralType(self.scalar_type(), /*includeBool=*/true)) {
        at::native::resize_output(out, self.sizes());
        put(out, self);
        return out;
    }
    // Numbers beyond the dtype are infinite, as PyTorch converts them.
    const auto replaced = [&](const at::Tensor& number, const at::Tensor& where, double with) {
        return select(where, at::scalar_tensor(with, at::kDouble).to(number.options()), number);
    };
    const double largest = largest_finite(self.scalar_type());
    const at::Tensor numbers = replaced(self, self.isnan(), nan.value_or(0));
    const at::Tensor bounded = replaced(numbers, self.eq(kInfinity), posinf.value_or(largest));
    const at::Tensor result = replaced(bounded, self.eq(-kInfinity), neginf.value_or(-largest));
    at::native::resize_output(out, self.sizes());
    put(out, result);
    return out;
}

void isneginf(at::Tensor& out, at::ScalarType type, const at::Tensor& self) {
    put(out, at::isFloatingType(self.scalar_type()) ? self.eq(-kInfinity) : self.ne(self));
}

void isposinf(at::Tensor& out, at::ScalarType type, const at::Tensor& self) {
    put(out, at::isFloatingType(self.scalar_type()) ? self.eq(kInfinity) : self.ne(self));
}

void signbit(at::Tensor& out, at::ScalarType type, const at::Tensor& self) { put(out, is_negative(self)); }

void exp2(at::Tensor& out, at::ScalarType type, const at::Tensor& self) {
    require_real(type);
    const at::Tensor exponent = operand(out, self, type);
    put(out, at::native::wrapped_scalar_tensor(2).to(out.device(), wide(type)).pow(exponent));
}

void bitwise_xor_tensor(at::Tensor& out, at::ScalarType type, const at::Tensor& self, const at::Tensor& other) {
    const at::Tensor first = operand(out, self, type);
    const at::Tensor second = operand(out, other, type);
    put(out, first.bitwise_or(second).bitwise_and(first.bitwise_and(second).bitwise_not()));
}

void xlogy_tensor(at::Tensor& out, at::ScalarType type, const at::Tensor& self, const at::Tensor& other) {
    require_real(type);
    const at::Tensor factor = operand(out, self, type);
    const at::Tensor number = operand(out, other, type);
    const at::Tensor product = factor.mul(number.log());
    put(out, product.masked_fill(factor.eq(0).logical_and(number.isnan().logical_not()), 0));
}

void logaddexp(at::Tensor& out, at::ScalarType type, const at::Tensor& self, const at::Tensor& other) {
    require_real(type);
    const at::Tensor first = operand(out, self, type);
    const at::Tensor second = operand(out, other, type);
    const at::Tensor sum = first.maximum(second).add(first.sub(second).abs().neg().exp().log1p());
    put(out, select(first.eq(second).logical_and(first.abs().eq(kInfinity)), first, sum));
}

void logaddexp2(at::Tensor& out, at::ScalarType type, const at::Tensor& self, const at::Tensor& other) {
    require_real(type);
    const at::Tensor first = operand(out, self, type);
    const at::Tensor second = operand(out, other, type);
    const at::Tensor two = at::native::wrapped_scalar_tensor(2).to(out.device(), wide(type));
    const at::Tensor rest = two.pow(first.sub(second).abs().neg()).log1p().mul(std::numbers::log2e);
    const at::Tensor sum = first.maximum(second).add(rest);
    put(out, select(first.eq(second).logical_and(first.abs().eq(kInfinity)), first, sum));
}

void hypot(at::Tensor& out, at::ScalarType type, const at::Tensor& self, const at::Tensor& other) {
    require_real(type);
    const at::Tensor first = operand(out, self, type).abs();
    const at::Tensor second = operand(out, other, type).abs();
    // Scaled by the larger side, so that no square overflows.
    const at::Tensor larger = first.maximum(second);
    const at::Tensor ratio = first.minimum(second).div(larger);
    const at::Tensor length = larger.mul(ratio.mul(ratio).add(1).sqrt());
    const at::Tensor is_end = larger.eq(0).logical_or(larger.eq(kInfinity));
    put(out, select(is_end, larger, length));
}

void heaviside(at::Tensor& out, at::ScalarType type, const at::Tensor& self, const at::Tensor& values) {
    const at::Tensor number = operand(out, self, type);
    put(out, select(number.eq(0), operand(out, values, type), number.gt(0).to(wide(type))));
}

void copysign_tensor(at::Tensor& out, at::ScalarType type, const at::Tensor& self, const at::Tensor& other) {
    const at::Tensor size = operand(out, self, type).abs();
    put(out, select(is_negative(operand(out, other, type)), size.neg(), size));
}

void fmax(at::Tensor& out, at::ScalarType type, const at::Tensor& self, const at::Tensor& other) {
    fill_extreme(out, type, self, other, /*larger=*/true);
}

void fmin(at::Tensor& out, at::ScalarType type, const at::Tensor& self, const at::Tensor& other) {
    fill_extreme(out, type, self, other, /*larger=*/false);
}

void fmod_tensor(at::Tensor& out, at::ScalarType type, const at::Tensor& self, const at::Tensor& other) {
    const at::Tensor number = operand(out, self, type);
    const at::Tensor divisor = operand(out, other, type);
    if (at::isIntegralType(type, /*includeBool=*/false)) {
        // The least integer has no absolute value. The remainder has the sign of the divisor, or is zero.
        const at::Tensor rest = number.remainder(divisor);
        put(out, select(rest.ne(0).logical_and(number.lt(0).ne(divisor.lt(0))), rest.sub(divisor), rest));
        return;
    }
    // The remainder of two positive numbers is exact, and has the sign that the number then gives it.
    const at::Tensor rest = number.abs().remainder(divisor.abs());
    put(out, select(number.lt(0), rest.neg(), rest));
}

void sinc(at::Tensor& out, at::ScalarType type, const at::Tensor& self) {
    require_real(type);
    const at::Tensor number = operand(out, self, type);
    const at::Tensor angle = number.mul(std::numbers::pi);
    put(out, angle.sin().div(angle).masked_fill(number.eq(0), 1));
}

void atan2(at::Tensor& out, at::ScalarType type, const at::Tensor& self, const at::Tensor& other) {
    const at::Tensor height = operand(out, self, type);
    const at::Tensor width = operand(out, other, type);
    const at::Tensor up = height.abs();
    const at::Tensor along = width.abs();
    // Equal sides: both may be zero or infinite, where the quotient says nothing.
    const at::Tensor same = up.ne(0).to(wide(type)).mul(std::numbers::pi / 4);
    const at::Tensor acute = select(up.eq(along), same, up.div(along).atan());
    const at::Tensor angle = select(is_negative(width), acute.neg().add(std::numbers::pi), acute);
    put(out, select(is_negative(height), angle.neg(), angle));
}

at::Tensor& angle(const at::Tensor& self, at::Tensor& out) {
    require_real(self.scalar_type());
    fill_angle(out, shape_elementwise(out, {&self}, Promotion::kReal), self);
    return out;
}

void bitwise_left_shift_tensor(at::Tensor& out, at::ScalarType type, const at::Tensor& self, const at::Tensor& other) {
    fill_shifted(out, type, self, other, shifted_left);
}

void bitwise_right_shift_tensor(at::Tensor& out, at::ScalarType type, const at::Tensor& self, const at::Tensor& other) {
    fill_shifted(out, type, self, other, shifted_right);
}

at::Tensor lshift_tensor(const at::Tensor& self, const at::Tensor& other) {
    return new_shifted(self, other, shifted_left);
}

at::Tensor lshift_scalar(const at::Tensor& self, const at::Scalar& other) {
    return new_shifted(self, at::native::wrapped_scalar_tensor(other), shifted_left);
}

at::Tensor rshift_tensor(const at::Tensor& self, const at::Tensor& other) {
    return new_shifted(self, other, shifted_right);
}

at::Tensor rshift_scalar(const at::Tensor& self, const at::Scalar& other) {
    return new_shifted(self, at::native::wrapped_scalar_tensor(other), shifted_right);
}

}  // namespace diopigen::backend::kernels
