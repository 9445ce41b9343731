// Activations that compose operators of the device, and their gradients.
#include <ATen/OpMathType.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/zeros_like.h>
#include <diopigen_torch/call.h>
#include <diopigen_torch/compose.h>
#include <diopigen_torch/forms.h>
#include <diopigen_torch/iterate.h>

#include <initializer_list>
#include <limits>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

// Numbers that PyTorch converts to the dtype that it computes in.
void require_numbers(at::ScalarType type, std::initializer_list<at::Scalar> numbers) {
    require_floating(type);
    for (const at::Scalar& number : numbers) {
        require_fits(at::toOpMathType(type), number);
    }
}

at::Tensor inside(const at::Tensor& number, const at::Scalar& low, const at::Scalar& high) {
    return number.ge(low).logical_and(number.le(high));
}

// Zero where the input is as near to zero as the bound.
void fill_shrunk_gradient(at::Tensor& out, at::ScalarType type, const at::Tensor& gradient, const at::Tensor& self,
                          double bound) {
    const at::Tensor number = operand(out, self, type);
    put(out, operand(out, gradient, type).masked_fill(inside(number, -bound, bound), 0));
}

void fill_glu_gradient(at::Tensor& out, const at::Tensor& gradient, const at::Tensor& self, int64_t dim) {
    TORCH_CHECK(self.dim() > 0, "glu does not support 0-dimensional tensors");
    const int64_t size = self.size(dim);
    TORCH_CHECK(size % 2 == 0, "Halving dimension must be even, but dimension ", dim, " is size ", size);
    const at::ScalarType type = self.scalar_type();
    const at::Tensor factor = operand(self, self.narrow(dim, 0, size / 2), type);
    const at::Tensor gate = operand(self, self.narrow(dim, size / 2, size / 2), type).sigmoid();
    const at::Tensor passed = operand(self, gradient, type).mul(gate);
    make_or_resize(out, self.sizes(), self.options().memory_format(self.suggest_memory_format()));
    out.narrow(dim, 0, size / 2).copy_(passed);
    out.narrow(dim, size / 2, size / 2).copy_(gate.neg().add(1).mul(passed).mul(factor));
}

void fill_log_sigmoid_gradient(at::Tensor& out, const at::Tensor& gradient, const at::Tensor& self) {
    const at::ScalarType type = shape_elementwise(out, {&self, &gradient});
    const at::Tensor number = operand(out, self, type);
    put(out, operand(out, gradient, type).mul(number.neg().sigmoid()));
}

void fill_logit(at::Tensor& out, at::ScalarType type, const at::Tensor& self, std::optional<double> eps) {
    require_floating(type);
    at::Tensor number = operand(out, self, type);
    if (eps.has_value() && *eps >= 0) {
        number = number.clamp(*eps, 1 - *eps);
    }
    put(out, number.div(number.neg().add(1)).log());
}

}  // namespace

void elu(at::Tensor& out, at::ScalarType type, const at::Tensor& self, const at::Scalar& alpha, const at::Scalar& scale,
         const at::Scalar& input_scale) {
    require_numbers(type, {alpha, scale, input_scale});
    const at::Tensor number = operand(out, self, type);
    const double below = alpha.toDouble() * scale.toDouble();
    put(out, select(number.lt(0), number.mul(input_scale).expm1().mul(below), number.mul(scale)));
}

void elu_backward(at::Tensor& grad_input, at::ScalarType type, const at::Tensor& grad_output, const at::Scalar& alpha,
                  const at::Scalar& scale, const at::Scalar& input_scale, bool is_result,
                  const at::Tensor& self_or_result) {
    require_numbers(type, {alpha, scale, input_scale});
    const at::Tensor number = operand(grad_input, self_or_result, type);
    const at::Tensor gradient = operand(grad_input, grad_output, type);
    const double below = alpha.toDouble() * scale.toDouble();
    const at::Tensor slope = is_result ? number.add(below) : number.mul(input_scale).exp().mul(below);
    put(grad_input, select(number.le(0), gradient.mul(slope).mul(input_scale), gradient.mul(scale)));
}

void hardsigmoid(at::Tensor& out, at::ScalarType type, const at::Tensor& self) {
    require_floating(type);
    put(out, operand(out, self, type).add(3).clamp(0, 6).div(6));
}

void hardsigmoid_backward(at::Tensor& grad_input, at::ScalarType type, const at::Tensor& grad_output,
                          const at::Tensor& self) {
    const at::Tensor number = operand(grad_input, self, type);
    const at::Tensor rises = number.gt(-3).logical_and(number.lt(3));
    put(grad_input, else_number(rises, operand(grad_input, grad_output, type).div(6), 0));
}

void hardshrink(at::Tensor& out, at::ScalarType type, const at::Tensor& self, const at::Scalar& lambd) {
    require_numbers(type, {lambd});
    const at::Tensor number = operand(out, self, type);
    const double bound = lambd.toDouble();
    put(out, number.masked_fill(inside(number, -bound, bound), 0));
}

void hardshrink_backward(at::Tensor& grad_input, at::ScalarType type, const at::Tensor& grad_out,
                         const at::Tensor& self, const at::Scalar& lambd) {
    require_numbers(type, {lambd});
    fill_shrunk_gradient(grad_input, type, grad_out, self, lambd.toDouble());
}

void softshrink(at::Tensor& out, at::ScalarType type, const at::Tensor& self, const at::Scalar& lambd) {
    require_numbers(type, {lambd});
    const at::Tensor number = operand(out, self, type);
    // The product keeps NaN.
    const double bound = lambd.toDouble();
    const at::Tensor rest = select(number.lt(-bound), number.add(bound), number.mul(0));
    put(out, select(number.gt(bound), number.sub(bound), rest));
}

void softshrink_backward(at::Tensor& grad_input, at::ScalarType type, const at::Tensor& grad_output,
                         const at::Tensor& self, const at::Scalar& lambd) {
    require_numbers(type, {lambd});
    fill_shrunk_gradient(grad_input, type, grad_output, self, lambd.toDouble());
}

void softplus(at::Tensor& out, at::ScalarType type, const at::Tensor& self, const at::Scalar& beta,
              const at::Scalar& threshold) {
    require_numbers(type, {beta, threshold});
    const at::Tensor number = operand(out, self, type);
    const at::Tensor scaled = number.mul(beta);
    put(out, select(scaled.gt(threshold), number, scaled.exp().log1p().div(beta)));
}

void softplus_backward(at::Tensor& grad_input, at::ScalarType type, const at::Tensor& grad_output,
                       const at::Tensor& self, const at::Scalar& beta, const at::Scalar& threshold) {
    require_numbers(type, {beta, threshold});
    const at::Tensor scaled = operand(grad_input, self, type).mul(beta);
    const at::Tensor gradient = operand(grad_input, grad_output, type);
    const at::Tensor power = scaled.exp();
    put(grad_input, select(scaled.gt(threshold), gradient, gradient.mul(power).div(power.add(1))));
}

void mish(at::Tensor& out, at::ScalarType type, const at::Tensor& self) {
    require_floating(type);
    const at::Tensor number = operand(out, self, type);
    put(out, number.mul(number.exp().log1p().tanh()));
}

void glu(at::Tensor& out, at::ScalarType type, const at::Tensor& self, int64_t dim) {
    require_floating(type);
    const int64_t half = self.size(dim) / 2;
    put(out,
        operand(out, self.narrow(dim, 0, half), type).mul(operand(out, self.narrow(dim, half, half), type).sigmoid()));
}

at::Tensor& glu_backward(const at::Tensor& grad_output, const at::Tensor& self, int64_t dim, at::Tensor& grad_input) {
    fill_glu_gradient(grad_input, grad_output, self, dim);
    return grad_input;
}

std::tuple<at::Tensor&, at::Tensor&> log_sigmoid_forward(const at::Tensor& self, at::Tensor& output,
                                                         at::Tensor& buffer) {
    require_floating(self.scalar_type());
    const at::ScalarType type = shape_elementwise(output, {&self});
    const at::Tensor number = operand(output, self, type);
    const at::Tensor power = number.abs().neg().exp();
    put(output, number.clamp_max(0).sub(power.log1p()));
    make_or_resize(buffer, self.sizes(), self.options().memory_format(self.suggest_memory_format()));
    put(buffer, power);
    return std::tie(output, buffer);
}

at::Tensor& log_sigmoid_backward(const at::Tensor& grad_output, const at::Tensor& self, const at::Tensor& buffer,
                                 at::Tensor& grad_input) {
    fill_log_sigmoid_gradient(grad_input, grad_output, self);
    return grad_input;
}

at::Tensor& logit(const at::Tensor& self, std::optional<double> eps, at::Tensor& out) {
    fill_logit(out, shape_elementwise(out, {&self}, Promotion::kReal), self, eps);
    return out;
}

void logit_backward(at::Tensor& grad_input, at::ScalarType type, const at::Tensor& grad_output, const at::Tensor& self,
                    std::optional<double> eps) {
    const at::Tensor number = operand(grad_input, self, type);
    const at::Tensor gradient = operand(grad_input, grad_output, type);
    const at::Tensor is_end = number.eq(0).logical_or(number.eq(1));
    const at::Tensor slope = number.mul(number.neg().add(1)).reciprocal();
    const at::Tensor result = gradient.mul(slope.masked_fill(is_end, kInfinity));
    const bool clamped = eps.has_value() && *eps >= 0;
    const double low = clamped ? *eps : 0.0;
    const at::Tensor outside = number.lt(low).logical_or(number.gt(1.0 - low));
    put(grad_input, result.masked_fill(outside, clamped ? 0.0 : std::numeric_limits<double>::quiet_NaN()));
}

at::Tensor prelu_kernel(const at::Tensor& self, const at::Tensor& weight) {
    const at::TensorIterator shaped = iterate({}, {&self, &weight});
    return select(self.gt(0), self, weight.mul(self)).to(shaped.common_dtype());
}

std::tuple<at::Tensor, at::Tensor> prelu_kernel_backward(const at::Tensor& grad_output, const at::Tensor& self,
                                                         const at::Tensor& weight) {
    const at::Tensor above = self.gt(0);
    return {select(above, grad_output, weight.mul(grad_output)), self.mul(grad_output).masked_fill(above, 0)};
}

at::Tensor add_relu_tensor(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) {
    return self.add(other, alpha).relu_();
}

at::Tensor add_relu_scalar(const at::Tensor& self, const at::Scalar& other, const at::Scalar& alpha) {
    return self.add(other, alpha).relu_();
}

}  // namespace diopigen::backend::kernels
