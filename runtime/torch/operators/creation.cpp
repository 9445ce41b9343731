// Tensors that numbers fill: sequences and patterns.
#include <ATen/native/RangeUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/empty.h>
#include <diopigen_torch/call.h>
#include <diopigen_torch/compose.h>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

void resize_to(at::Tensor& out, int64_t count) {
    if (out.numel() != count) {
        out.resize_({count});
    }
}

// The interface takes no bools for numbers.
Number counted(const at::Scalar& scalar) { return scalar.isBoolean() ? at::Scalar(scalar.toLong()) : scalar; }

// Fills `out` from `start` on in its own dtype.
void fill_range(at::Tensor& out, const at::Scalar& start, const at::Scalar& end, const at::Scalar& step) {
    if (!is_in(kNumber, out.scalar_type()) ||
        (!out.is_floating_point() && !(start.isIntegral(false) && step.isIntegral(false) && end.isIntegral(false)))) {
        fall_back("a range of this dtype");
    }
    if (out.numel() == 0) {
        return;
    }
    Call call(out);
    call("diopiArange", diopiArange, Output(out), counted(start), counted(end), counted(step));
}

void require_steps(int64_t steps) { TORCH_CHECK(steps >= 0, "number of steps must be non-negative"); }

at::Tensor triangle(int64_t row, int64_t col, int64_t offset, bool upper, std::optional<at::ScalarType> type,
                    std::optional<at::Layout> layout, std::optional<at::Device> device) {
    at::native::check_args(row, col, layout);
    const c10::Device location(kDeviceType,
                               device.has_value() && device->has_index() ? device->index() : current_device());
    const auto options = at::TensorOptions().device(location).dtype(at::kBool);
    const at::Tensor all = at::empty({row, col}, options).fill_(true);
    const at::Tensor positions = (upper ? all.triu(offset) : all.tril(offset)).nonzero();
    return positions.t().to(type.value_or(at::kLong)).contiguous();
}

}  // namespace

at::Tensor& linspace_out(const at::Scalar& start, const at::Scalar& end, int64_t steps, at::Tensor& out) {
    require_steps(steps);
    const bool whole = start.isIntegral(true) && end.isIntegral(true);
    if (!is_in(kNumber, out.scalar_type()) || (!out.is_floating_point() && !whole)) {
        fall_back("steps of this dtype");
    }
    resize_to(out, steps);
    Call call(out);
    call("diopiLinspace", diopiLinspace, Output(out), counted(start), counted(end), steps);
    return out;
}

at::Tensor& logspace_out(const at::Scalar& start, const at::Scalar& end, int64_t steps, double base, at::Tensor& out) {
    require_steps(steps);
    // Truncation to an integer would depend on the last bit of the power.
    if (!out.is_floating_point() || start.isComplex() || end.isComplex()) {
        fall_back("powers of this dtype");
    }
    resize_to(out, steps);
    at::Tensor exponents = at::empty({steps}, out.options().dtype(wide(out.scalar_type())));
    kernels::linspace_out(start, end, steps, exponents);
    put(out, at::empty({}, exponents.options()).fill_(base).pow(exponents).reshape(out.sizes()));
    return out;
}

at::Tensor& arange_start_out(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step, at::Tensor& out) {
    const int64_t count = out.scalar_type() == at::kLong ? at::native::compute_arange_size<int64_t>(start, end, step)
                                                         : at::native::compute_arange_size<double>(start, end, step);
    resize_to(out, count);
    if (is_in(kIntegral, out.scalar_type()) &&
        (start.isFloatingPoint() || step.isFloatingPoint() || end.isFloatingPoint())) {
        // PyTorch cuts off where the range begins and its step, after it has counted.
        const int64_t width = step.toLong();
        if (width == 0) {
            return out.fill_(start.toLong());
        }
        fill_range(out, start.toLong(), start.toLong() + count * width, width);
        return out;
    }
    fill_range(out, start, end, step);
    return out;
}

at::Tensor& range_out(const at::Scalar& start, const at::Scalar& end, const at::Scalar& step, at::Tensor& out) {
    const double first = start.toDouble();
    const double width = step.toDouble();
    if (start.type() == at::kUInt64 || end.type() == at::kUInt64 || step.type() == at::kUInt64) {
        fall_back("a range of numbers beyond the integers of the interface");
    }
    TORCH_CHECK(width > 0 || width < 0, "step must be nonzero");
    TORCH_CHECK(std::isfinite(first) && std::isfinite(end.toDouble()), "unsupported range: ", first, " -> ",
                end.toDouble());
    TORCH_CHECK((width > 0 && end.toDouble() >= first) || (width < 0 && end.toDouble() <= first),
                "upper bound and lower bound inconsistent with step sign");
    const auto count = static_cast<int64_t>((end.toDouble() - first) / width + 1);
    resize_to(out, count);
    // The end belongs to this range: half a step more keeps rounding from losing it.
    const bool whole = start.isIntegral(false) && end.isIntegral(false) && step.isIntegral(false);
    const at::Scalar past = whole ? at::Scalar(start.toLong() + count * step.toLong())
                                  : at::Scalar(first + (static_cast<double>(count) - 0.5) * width);
    fill_range(out, start, past, step);
    return out;
}

at::Tensor& eye_m_out(int64_t n, int64_t m, at::Tensor& out) {
    TORCH_CHECK(n >= 0, "n must be greater or equal to 0, got ", n);
    TORCH_CHECK(m >= 0, "m must be greater or equal to 0, got ", m);
    out.resize_({n, m});
    out.zero_();
    out.diagonal().fill_(1);
    return out;
}

at::Tensor& eye_out(int64_t n, at::Tensor& out) { return eye_m_out(n, n, out); }

at::Tensor tril_indices(int64_t row, int64_t col, int64_t offset, std::optional<at::ScalarType> dtype,
                        std::optional<at::Layout> layout, std::optional<at::Device> device,
                        std::optional<bool> pin_memory) {
    return triangle(row, col, offset, /*upper=*/false, dtype, layout, device);
}

at::Tensor triu_indices(int64_t row, int64_t col, int64_t offset, std::optional<at::ScalarType> dtype,
                        std::optional<at::Layout> layout, std::optional<at::Device> device,
                        std::optional<bool> pin_memory) {
    return triangle(row, col, offset, /*upper=*/true, dtype, layout, device);
}

}  // namespace diopigen::backend::kernels
