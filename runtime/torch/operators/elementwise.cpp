// Elementwise operators that have a function of the interface and no meta function of PyTorch.
#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/OpMathType.h>
#include <ATen/ScalarOps.h>
#include <ATen/ops/conj_physical.h>
#include <ATen/ops/result_type.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/sqrt.h>
#include <diopigen_torch/call.h>
#include <diopigen_torch/iterate.h>
#include <diopigen_torch/shaped.h>

#include <limits>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

// A function of one tensor, and perhaps more, to an output of the dtype `type`.
template <typename Function, typename... Rest>
void fill(at::Tensor& out, at::ScalarType type, const at::Tensor& self, Dtypes dtypes, const char* name,
          Function function, const Rest&... rest) {
    Call call(self);
    Output written(out, type);
    call(name, function, written, Input(call, self, type, dtypes), rest...);
    written.finish();
}

constexpr Dtypes kTanh = kFloating | kInt8 | kInt16 | kInt32 | kInt64;

void require_tanh(const at::Tensor& self) {
    if (!is_in(kTanh, self.scalar_type())) {
        fall_back("hardtanh of this dtype");
    }
}

// The iterator that shapes the result of a choice.
at::TensorIterator shape_of_choice(const at::Tensor& out, at::ScalarType type, const at::Tensor& condition,
                                   const at::Tensor& self, const at::Tensor& other) {
    const at::Tensor& like = !condition.is_cpu() ? condition : !self.is_cpu() ? self : other;
    at::TensorIteratorConfig config;
    config.check_all_same_dtype(false).allow_cpu_scalars(true).set_check_mem_overlap(true).add_owned_output(out);
    config.add_owned_const_input(condition).add_owned_const_input(self).add_owned_const_input(other);
    if (!out.defined()) {
        config.declare_static_dtype_and_device(type, like.device());
    }
    return config.build();
}

void fill_choice(at::Tensor& out, at::ScalarType type, const at::Tensor& condition, const at::Tensor& self,
                 const at::Tensor& other) {
    TORCH_CHECK(condition.scalar_type() == at::kBool || condition.scalar_type() == at::kByte,
                "where expected condition to be a boolean tensor, but got a tensor with dtype ",
                condition.scalar_type());
    Call call(out);
    call("diopiWhere", diopiWhere, Output(out), Input(call, condition), Input(call, self, type),
         Input(call, other, type));
}

// The shape of two tensors of one floating dtype together, for a result that is complex.
void shape_complex(at::Tensor& out, const at::Tensor& first, const at::Tensor& second) {
    const at::ScalarType type = first.scalar_type();
    if (!is_in(kFloat32 | kFloat64, type) || second.scalar_type() != type) {
        fall_back("complex numbers of this dtype");
    }
    shape_output(out, at::infer_size(first.sizes(), second.sizes()), {},
                 first.options().dtype(at::toComplexType(type)));
}

void fill_quotient(at::Tensor& out, at::ScalarType type, const at::Tensor& self, const at::Tensor& other) {
    Call call(out);
    Output written(out, type);
    call("diopiDiv", diopiDiv, written, Input(call, self, type, kNumber), Input(call, other, type), RoundModeFloor);
    written.finish();
}

void require_known(const at::Tensor& self) {
    if (!is_in(kAnyDtype, self.scalar_type())) {
        fall_back_for_dtype(self.scalar_type());
    }
}

}  // namespace

at::Tensor& abs(const at::Tensor& self, at::Tensor& out) {
    if (!is_in(kNumber, self.scalar_type())) {
        fall_back("the magnitude of this dtype");
    }
    const at::ScalarType type = shape_elementwise(out, {&self});
    fill(out, type, self, kNumber, "diopiAbs", diopiAbs);
    return out;
}

at::Tensor& logical_xor(const at::Tensor& self, const at::Tensor& other, at::Tensor& out) {
    shape_elementwise(out, {&self, &other}, Promotion::kBoolean);
    Call call(out);
    Output written(out, at::kBool);
    call("diopiNe", diopiNe, written, Input(call, self, at::kBool), Input(call, other, at::kBool));
    written.finish();
    return out;
}

at::Tensor& hardtanh(const at::Tensor& self, const at::Scalar& min_val, const at::Scalar& max_val, at::Tensor& out) {
    require_tanh(self);
    const at::ScalarType type = shape_elementwise(out, {&self});
    const at::ScalarType computed = at::toOpMathType(type);
    fill(out, type, self, kTanh, "diopiHardtanh", diopiHardtanh, Number(min_val, computed, Bound::kLower),
         Number(max_val, computed, Bound::kUpper));
    return out;
}

at::Tensor& conj_physical_inplace(at::Tensor& self) {
    return self.is_complex() ? at::conj_physical_out(self, self) : self;
}

at::Tensor& complex(const at::Tensor& real, const at::Tensor& imag, at::Tensor& out) {
    shape_complex(out, real, imag);
    Call call(out);
    call("diopiComplex", diopiComplex, Output(out), Input(call, real), Input(call, imag));
    return out;
}

at::Tensor& polar(const at::Tensor& abs, const at::Tensor& angle, at::Tensor& out) {
    shape_complex(out, abs, angle);
    Call call(out);
    call("diopiPolar", diopiPolar, Output(out), Input(call, abs), Input(call, angle));
    return out;
}

at::Tensor& where_self(const at::Tensor& condition, const at::Tensor& self, const at::Tensor& other, at::Tensor& out) {
    const at::ScalarType type = at::result_type(self, other);
    TORCH_CHECK(!out.defined() || out.scalar_type() == type, "Expected out type to be ", type, " but got ",
                out.scalar_type());
    const at::TensorIterator shaped = shape_of_choice(out, type, condition, self, other);
    out = shaped.output();
    fill_choice(out, type, condition, self, other);
    return out;
}

at::Tensor& mul_inplace_scalar(at::Tensor& self, const at::Scalar& other) {
    return self.mul_(at::native::wrapped_scalar_tensor(other));
}

at::Tensor& masked_fill_inplace_scalar(at::Tensor& self, const at::Tensor& mask, const at::Scalar& value) {
    TORCH_CHECK(mask.scalar_type() == at::kBool, "masked_fill_ only supports boolean masks, but got mask with dtype ",
                mask.scalar_type());
    at::assert_no_internal_overlap(self);
    at::assert_no_partial_overlap(self, mask);
    const auto expanded = at::expand_inplace(self, mask, "masked_fill_");
    Call call(self);
    call("diopiMaskedFillInpScalar", diopiMaskedFillInpScalar, Output(self), Input(call, *expanded),
         Number(value, self.scalar_type()));
    return self;
}

at::Tensor& masked_fill_inplace_tensor(at::Tensor& self, const at::Tensor& mask, const at::Tensor& value) {
    TORCH_CHECK(value.dim() == 0, "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
                value.dim(), " dimension(s).");
    if (value.is_cpu()) {
        return masked_fill_inplace_scalar(self, mask, value.item());
    }
    TORCH_CHECK(mask.scalar_type() == at::kBool, "masked_fill_ only supports boolean masks, but got mask with dtype ",
                mask.scalar_type());
    TORCH_CHECK(!value.is_complex() || self.is_complex(), "value cannot be converted to type ", self.scalar_type(),
                " without overflow");
    at::assert_no_internal_overlap(self);
    at::assert_no_partial_overlap(self, mask);
    const auto expanded = at::expand_inplace(self, mask, "masked_fill_");
    Call call(self);
    call("diopiMaskedFillInp", diopiMaskedFillInp, Output(self), Input(call, *expanded),
         Input(call, value, self.scalar_type()));
    return self;
}

at::Tensor& fill_inplace_scalar(at::Tensor& self, const at::Scalar& value) {
    require_known(self);
    Call call(self);
    const Number number(value, self.scalar_type());
    if (self.numel() > 0) {  // engines fill empty tensors in each step, and a kernel may have no launch for these
        call("diopiFill", diopiFill, Output(self), number);
    }
    return self;
}

at::Tensor& fill_inplace_tensor(at::Tensor& self, const at::Tensor& value) {
    TORCH_CHECK(value.dim() == 0, "fill_ only supports 0-dimension value tensor but got tensor with ", value.dim(),
                " dimensions.");
    return value.is_cpu() ? fill_inplace_scalar(self, value.item()) : self.copy_(value.expand_as(self));
}

at::Tensor& zero_inplace(at::Tensor& self) {
    require_known(self);
    Call call(self);
    call("diopiZeroInp", diopiZeroInp, Output(self));
    return self;
}

void pow_tensor_scalar(at::Tensor& out, at::ScalarType type, const at::Tensor& self, const at::Scalar& exponent) {
    if (type == at::kBool) {  // True to any power is True, and False to that of False
        exponent.toBool() ? out.copy_(self) : out.fill_(1);
        return;
    }
    const double power = exponent.isComplex() ? 0 : exponent.toDouble();
    const bool takes_roots = at::isFloatingType(type) && type != at::kHalf;  // as the CPU has it
    if ((takes_roots || at::isComplexType(type)) && power == 0.5) {
        at::sqrt_out(out, self);
        return;
    }
    if (takes_roots && power == -0.5) {
        at::rsqrt_out(out, self);
        return;
    }
    if (at::isIntegralType(type, /*includeBool=*/false)) {
        require_fits(type, exponent);
    }
    Call call(out);
    Output written(out, type);
    call("diopiPow", diopiPow, written, Input(call, self, type), Number(exponent));
    written.finish();
}

at::Tensor remainder_scalar_tensor(const at::Scalar& self, const at::Tensor& other) {
    const at::Tensor number = at::native::wrapped_scalar_tensor(self);
    const at::TensorIterator shaped = iterate({}, {&number, &other});
    at::Tensor out = shaped.output();
    Call call(other);
    // As a number of the dtype: beyond half precision it is infinite.
    call("diopiRemainder", diopiRemainder, Output(out), Number(number_in(number, shaped.common_dtype())),
         Input(call, other, shaped.common_dtype(), kNumber));
    return out;
}

at::Tensor rsub_tensor(const at::Tensor& self, const at::Tensor& other, const at::Scalar& alpha) {
    return other.sub(self, alpha);
}

at::Tensor& floor_divide(const at::Tensor& self, const at::Tensor& other, at::Tensor& out) {
    fill_quotient(out, shape_elementwise(out, {&self, &other}), self, other);
    return out;
}

}  // namespace diopigen::backend::kernels
