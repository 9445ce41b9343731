#include <ATen/Dispatch.h>
#include <ATen/EmptyTensor.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <diopigen/left_call.h>
#include <diopigen_torch/allocator.h>
#include <diopigen_torch/call.h>
#include <diopigen_torch/capture.h>
#include <diopigen_torch/fallback.h>
#include <diopigen_torch/release.h>
#include <diopigen_torch/shaped.h>

#include <cstdint>
#include <limits>

#include "devices.h"

// A vendor's library need not say what went wrong.
#pragma weak diopiGetLastErrorString

namespace diopigen::backend {

void fall_back(const std::string& reason) {
    note_left({});
    throw FallbackRequested(reason);
}

void fall_back_for_dtype(at::ScalarType type) { fall_back(c10::str("the interface does not take ", type, " here")); }

void require_fits(at::ScalarType type, const at::Scalar& number) {
    AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(at::kBool, at::kHalf, at::kBFloat16, type, "require_fits",
                                           [&] { static_cast<void>(number.to<scalar_t>()); });
}

at::Scalar bound_of(const at::Scalar& bound, at::ScalarType type, Bound side) {
#if DIOPIGEN_TORCH_SINCE(2, 15)
    if (at::isIntegralType(type, /*includeBool=*/false)) {
        return AT_DISPATCH_INTEGRAL_TYPES(type, "bound_of", [&]() -> at::Scalar {
            constexpr auto kLowest = static_cast<int64_t>(std::numeric_limits<scalar_t>::min());
            constexpr auto kHighest = static_cast<int64_t>(std::numeric_limits<scalar_t>::max());
            const bool is_huge = bound.isUnsigned() && bound.to<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
            const int64_t value = is_huge ? kHighest : bound.to<int64_t>();
            const bool is_below = value < kLowest;
            const bool is_above = is_huge || value > kHighest;
            TORCH_CHECK(!(side == Bound::kLower ? is_above : is_below), "Clamp ", side == Bound::kLower ? "min" : "max",
                        " value ", bound, " is outside the representable range of ", type);
            return is_below ? kLowest : is_above ? kHighest : value;
        });
    }
#endif
    require_fits(type, bound);
    return bound;
}

void Call::lack(const char* name) {
    note_left({name, ""});
    throw FallbackRequested(c10::str(name, ": the chip has no such operator"));
}

void Call::fail(const char* name, diopiError_t status) {
    const char* const text = diopiGetLastErrorString == nullptr ? nullptr : diopiGetLastErrorString();
    if (!is_left(status)) {
        if (is_capturing(current_device())) {
            if (const std::string rejection = take_rejection(); !rejection.empty()) {
                throw Failed(c10::str(name, ": ", rejection));
            }
        }
        throw Failed(c10::str(name, " returns ", static_cast<int>(status), text == nullptr ? "" : ": ",
                              text == nullptr ? "" : text),
                     status == diopiDtypeNotSupported);
    }
    const char* const word = status == diopiNoImplement ? "diopiNoImplement" : "diopiForceFallbackToCPU";
    note_left({name, word});
    const std::string reason = reason_of(text, name);
    throw FallbackRequested(reason.empty() ? c10::str(name, " returns ", word, " without a text")
                                           : c10::str(word, ": ", reason));
}

void Failed::raise(const char* op, const char* overload) const {
    TORCH_CHECK(false, op, *overload == '\0' ? "" : ".", overload, ": ", what());
}

Input::Input(Call& call, const at::Tensor& tensor, Dtypes dtypes) : original_(&tensor) {
    take(call, tensor.scalar_type(), dtypes);
}

Input::Input(Call& call, const at::Tensor& tensor, at::ScalarType type, Dtypes dtypes) : original_(&tensor) {
    take(call, type, dtypes);
}

Input::Input(Call& call, const at::Tensor& tensor, at::ScalarType type, Dtypes dtypes, at::IntArrayRef sizes)
    : Input(call, tensor, type, dtypes) {
    if (C10_UNLIKELY(this->tensor().sizes() != sizes)) {
        own_ = this->tensor().expand(sizes);
    }
}

void Input::take(Call& call, at::ScalarType type, Dtypes dtypes) {
    if (C10_UNLIKELY(!is_in(dtypes, type))) {
        fall_back_for_dtype(type);
    }
    const bool is_here = original_->device().type() == kDeviceType;
    if (C10_UNLIKELY(is_here ? original_->get_device() != call.device() : !is_number(*original_))) {
        reject_devices({kDeviceType, call.device()}, original_->device());
    }
    if (C10_UNLIKELY(!is_here)) {
        own_ = at::empty({}, call.options(type));
        own_.fill_(number_in(*original_, type));
    } else if (C10_UNLIKELY(original_->scalar_type() != type)) {
        if (original_->is_complex() && !at::isComplexType(type)) {
            fall_back_for_dtype(original_->scalar_type());
        }
        own_ = original_->to(type);
    }
}

void Output::replace(at::ScalarType type) { own_ = at::empty_like(*out_, out_->options().dtype(type)); }

void Output::reject() const { reject_devices({kDeviceType, current_device()}, out_->device()); }

at::Scalar number_in(const at::Tensor& number, at::ScalarType type) {
    const bool is_converted = number.scalar_type() != type && (!number.is_complex() || at::isComplexType(type));
    return is_converted ? number.to(type).item() : number.item();
}

void Number::set(const at::Scalar& scalar) {
    if (scalar.isBoolean()) {
        value_.stype = diopi_dtype_bool;
        value_.ival = scalar.toBool() ? 1 : 0;
    } else if (C10_UNLIKELY(scalar.type() == at::kUInt64)) {
        // Beyond int64, the widest integer of the interface; tensors of floating dtypes are called with it.
        value_.stype = diopi_dtype_float64;
        value_.fval = static_cast<double>(scalar.toUInt64());
    } else if (scalar.isIntegral(/*includeBool=*/false)) {
        value_.stype = diopi_dtype_int64;
        value_.ival = scalar.toLong();
    } else if (scalar.isFloatingPoint()) {
        value_.stype = diopi_dtype_float64;
        value_.fval = scalar.toDouble();
    } else {
        fall_back("the interface has no complex numbers");
    }
}

diopiRoundMode_t round_mode(std::optional<std::string_view> name) {
    if (!name.has_value()) {
        return RoundModeNone;
    }
    if (*name == "trunc") {
        return RoundModeTrunc;
    }
    TORCH_CHECK(*name == "floor", "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '",
                *name, "'");
    return RoundModeFloor;
}

at::Tensor make_output(at::IntArrayRef sizes, at::IntArrayRef strides, const at::TensorOptions& options) {
    const c10::Device device = options.device();
    if (C10_UNLIKELY(device.index() != current_device() || options.layout() != at::kStrided)) {
        return strides.empty() ? at::empty(sizes, options) : at::empty_strided(sizes, strides, options);
    }
    // Straight to memory: a third of what a small operator costs would go into finding the way here.
    constexpr c10::DispatchKeySet keys(c10::DispatchKey::PrivateUse1);
    const at::ScalarType type = options.dtype().toScalarType();
    return at::Tensor(
        strides.empty() ? at::detail::empty_generic(sizes, &device_allocator(), keys, type, options.memory_format_opt())
                        : at::detail::empty_strided_generic(sizes, strides, &device_allocator(), keys, type));
}

void shape_output(at::Tensor& out, at::IntArrayRef sizes, at::IntArrayRef strides, const at::TensorOptions& options) {
    TORCH_CHECK(options.dtype() == out.dtype(), "Expected out tensor to have dtype ", options.dtype(), ", but got ",
                out.dtype(), " instead");
    TORCH_CHECK(options.device() == out.device(), "Expected out tensor to have device ", options.device(), ", but got ",
                out.device(), " instead");
    if (!at::native::resize_output(out, sizes)) {
        return;
    }
    if (!strides.empty()) {
        out.as_strided_(sizes, strides);
    } else if (options.memory_format_opt().has_value()) {
        out.unsafeGetTensorImpl()->empty_tensor_restride(*options.memory_format_opt());
    }
}

namespace {

// Rejects a tensor written in place that has not the shape, the dtype or the device of the result.
void check_inplace(const at::Tensor& self, at::IntArrayRef sizes, const at::TensorOptions& options) {
    TORCH_CHECK(options.dtype() == self.dtype(), "Bad in-place call: input tensor dtype ", self.dtype(),
                " and output tensor dtype ", options.dtype(), " should match");
    TORCH_CHECK(options.device() == self.device(), "Bad in-place call: input tensor device ", self.device(),
                " and output tensor device ", options.device(), " should match");
    TORCH_CHECK(sizes == self.sizes(), "Bad in-place call: input tensor size ", self.sizes(),
                " and output tensor size ", sizes, " should match");
}

bool are_equal(at::IntArrayRef one, at::IntArrayRef other) {
    if (one.size() != other.size()) {
        return false;
    }
    for (size_t i = 0; i < one.size(); ++i) {  // few: a call of memcmp takes longer
        if (one[i] != other[i]) {
            return false;
        }
    }
    return true;
}

// Tells whether an output of the caller is what it must be already, as outputs that are used again are.
bool is_shaped(const at::Tensor& out, at::IntArrayRef sizes, const at::TensorOptions& options) {
    return out.dtype() == options.dtype() && out.device() == options.device() && are_equal(out.sizes(), sizes);
}

// Stricter than is_contiguous(): dimensions of one element, and all of a tensor without elements, have any stride
// there, which can be a memory format to keep.
bool is_row_major(const at::Tensor& tensor) {
    const at::IntArrayRef sizes = tensor.sizes();
    const at::IntArrayRef strides = tensor.strides();
    int64_t expected = 1;
    for (size_t i = sizes.size(); i-- > 0;) {
        if (strides[i] != expected) {
            return false;
        }
        expected *= sizes[i];
    }
    return expected != 0;
}

at::ScalarType result_type(Alike alike, const at::Tensor& first) {
    return alike == Alike::kCompared ? at::kBool : first.scalar_type();
}

// Of a number: its own dtype does not take part in promotion.
bool is_like(const at::Tensor& first, at::ScalarType number) {
    return at::isIntegralType(number, false) || (at::isFloatingType(number) && at::isFloatingType(first.scalar_type()));
}

bool is_like(const at::Tensor& first, const at::Tensor& other, at::ScalarType type) {
    return other.scalar_type() == type && other.device() == first.device() && other.is_contiguous() &&
           are_equal(other.sizes(), first.sizes());
}

}  // namespace

bool allows(Alike alike, const at::Tensor& first) {
    return is_in(alike == Alike::kFloating ? kFloating : kNumber, first.scalar_type()) &&
           first.device().type() == kDeviceType && is_row_major(first);
}

bool is_like(const at::Tensor& first, const at::Tensor& other) {
    if (other.unsafeGetTensorImpl()->is_wrapped_number()) {
        return is_like(first, other.scalar_type());
    }
    return is_like(first, other, first.scalar_type());
}

bool is_like(const at::Tensor& first, const at::Scalar& other) { return is_like(first, other.type()); }

bool is_like_result(Alike alike, const at::Tensor& first, const at::Tensor& output) {
    return is_like(first, output, result_type(alike, first));
}

bool is_apart(const at::Tensor& output, const at::Tensor& operand) {
    const c10::StorageImpl* const written = output.storage().unsafeGetStorageImpl();
    return written != operand.storage().unsafeGetStorageImpl() ||
           (output.scalar_type() == operand.scalar_type() && output.storage_offset() == operand.storage_offset());
}

at::Tensor make_result(Alike alike, const at::Tensor& first) {
    return make_output(first.sizes(), {}, at::TensorOptions(first.device()).dtype(result_type(alike, first)));
}

void set_output(at::Tensor& output, Form form, at::IntArrayRef sizes, at::IntArrayRef strides,
                const at::TensorOptions& options) {
    if (form == Form::kFunctional) {
        output = make_output(sizes, strides, options);
    } else if (C10_UNLIKELY(!is_shaped(output, sizes, options))) {
        if (form == Form::kInplace) {
            check_inplace(output, sizes, options);
        } else {
            shape_output(output, sizes, strides, options);
        }
    }
}

}  // namespace diopigen::backend
