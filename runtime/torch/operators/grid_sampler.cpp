// Interpolation of images and volumes at fractional positions, and its gradients.
#include <ATen/native/GridSamplerUtils.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/rsub.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <diopigen_torch/call.h>
#include <diopigen_torch/compose.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

using at::Tensor;
using at::native::GridSamplerInterpolation;
using at::native::GridSamplerPadding;

// Options of a call.
struct Sampling {
    GridSamplerInterpolation mode;
    GridSamplerPadding padding;
    bool align_corners;
};

// Positions in elements, and their derivatives by the coordinates of the grid.
struct Position {
    Tensor value;
    Tensor slope;
};

// One of the elements along an axis that a result is a sum of. `slope` is the derivative of the weight by the
// coordinate.
struct Tap {
    Tensor index;
    Tensor is_inside;
    Tensor weight;
    Tensor slope;
};

Position clipped(const Position& position, int64_t size) {
    const auto last = static_cast<double>(size - 1);
    const Tensor is_fixed = position.value.le(0).logical_or(position.value.ge(last));
    return {position.value.clamp(0, last), position.slope.masked_fill(is_fixed, 0)};
}

Position reflected(const Position& position, int64_t size, bool align_corners) {
    const double low = align_corners ? 0 : -0.5;
    const auto span = static_cast<double>(align_corners ? size - 1 : size);
    if (span == 0) {
        return {position.value.mul(0), position.slope.mul(0)};
    }
    const Tensor offset = position.value.sub(low);
    const Tensor distance = offset.abs();
    const Tensor rest = distance.remainder(span);
    const Tensor is_mirrored = distance.div(span).floor().remainder(2).eq(1);
    const Tensor slope = select(offset.lt(0).logical_xor(is_mirrored), position.slope.neg(), position.slope);
    return {select(is_mirrored, at::rsub(rest, span), rest).add(low), slope};
}

Position padded(const Position& position, int64_t size, const Sampling& sampling) {
    switch (sampling.padding) {
        case GridSamplerPadding::Zeros:
            return position;
        case GridSamplerPadding::Border:
            return clipped(position, size);
        default:
            return clipped(reflected(position, size, sampling.align_corners), size);
    }
}

Position located(const Tensor& coordinate, int64_t size, bool align_corners) {
    const double scale = static_cast<double>(align_corners ? size - 1 : size) / 2;
    const Tensor value = coordinate.add(1).mul(scale);
    return {align_corners ? value : value.sub(0.5), at::full_like(coordinate, scale)};
}

// Without bounds the index of an element outside would be that of another one.
Tap tap_of(const Tensor& index, int64_t size, const Tensor& weight, const Tensor& slope) {
    const Tensor is_inside = index.ge(0).logical_and(index.le(size - 1));
    return {else_number(is_inside, index, 0).to(at::kLong), is_inside, weight, slope};
}

// Weights of cubic convolution with A = -0.75, and their derivatives, at a distance up to 1 and from 1 to 2.
constexpr double kCubic = -0.75;

Tensor near(const Tensor& d) { return d.mul(kCubic + 2).sub(kCubic + 3).mul(d).mul(d).add(1); }
Tensor far(const Tensor& d) { return d.mul(kCubic).sub(5 * kCubic).mul(d).add(8 * kCubic).mul(d).sub(4 * kCubic); }
Tensor near_slope(const Tensor& d) { return d.mul(3 * (kCubic + 2)).sub(2 * (kCubic + 3)).mul(d); }
Tensor far_slope(const Tensor& d) { return d.mul(3 * kCubic).sub(10 * kCubic).mul(d).add(8 * kCubic); }

std::vector<Tap> cubic_taps(const Position& position, int64_t size, const Sampling& sampling) {
    const Tensor below = position.value.floor();
    const Tensor rest = position.value.sub(below);
    const Tensor left = rest.add(1);
    const Tensor right = at::rsub(rest, 1);
    const Tensor last = at::rsub(rest, 2);
    const std::array<Tensor, 4> weights{far(left), near(rest), near(right), far(last)};
    const std::array<Tensor, 4> slopes{far_slope(left), near_slope(rest), near_slope(right).neg(),
                                       far_slope(last).neg()};
    std::vector<Tap> taps;
    for (int64_t i = 0; i < 4; ++i) {
        const Position index = padded({below.add(i - 1), position.slope}, size, sampling);
        taps.push_back(tap_of(index.value, size, weights[i], slopes[i].mul(position.slope)));
    }
    return taps;
}

std::vector<Tap> taps_of(const Tensor& coordinate, int64_t size, const Sampling& sampling) {
    const Position position = located(coordinate, size, sampling.align_corners);
    if (sampling.mode == GridSamplerInterpolation::Bicubic) {
        return cubic_taps(position, size, sampling);
    }
    const Position used = padded(position, size, sampling);
    if (sampling.mode == GridSamplerInterpolation::Nearest) {
        return {tap_of(used.value.round(), size, Tensor(), Tensor())};
    }
    const Tensor below = used.value.floor();
    const Tensor rest = used.value.sub(below);
    return {tap_of(below, size, at::rsub(rest, 1), used.slope.neg()), tap_of(below.add(1), size, rest, used.slope)};
}

// The taps of all axes, and the input as rows of channels, one for each element; the last row is that of the elements
// outside, zeros.
class Samples {
  public:
    Samples(const Tensor& input, const Tensor& grid, const Sampling& sampling)
        : sizes_(input.sizes().slice(2)), count_(input.size(0) * c10::multiply_integers(sizes_)) {
        const Tensor coordinates = grid.to(wide(grid.scalar_type()));
        for (size_t axis = 0; axis < sizes_.size(); ++axis) {  // x comes first in the grid
            const auto column = static_cast<int64_t>(sizes_.size() - 1 - axis);
            taps_.push_back(taps_of(coordinates.select(-1, column), sizes_[axis], sampling));
        }
        at::DimVector shape(grid.dim() - 1, 1);
        shape[0] = input.size(0);
        first_ =
            at::arange(input.size(0), input.options().dtype(at::kLong)).mul(count_ / std::max<int64_t>(shape[0], 1));
        first_ = first_.view(shape);
    }

    Tensor zero_rows(int64_t channels, at::TensorOptions options) const {
        return at::zeros({count_ + 1, channels}, options.dtype(wide(options.dtype().toScalarType())));
    }

    Tensor elements(const Tensor& rows) const { return rows.narrow(0, 0, count_); }

    // Calls `visit` with each tuple of taps, one of each axis, and the rows of its elements.
    template <typename Visit>
    void each(Visit&& visit) const {
        std::vector<size_t> selected(taps_.size(), 0);
        while (true) {
            std::vector<const Tap*> tuple;
            for (size_t axis = 0; axis < taps_.size(); ++axis) {
                tuple.push_back(&taps_[axis][selected[axis]]);
            }
            visit(tuple, rows_of(tuple));
            size_t axis = 0;
            while (axis < taps_.size() && ++selected[axis] == taps_[axis].size()) {
                selected[axis++] = 0;
            }
            if (axis == taps_.size()) {
                return;
            }
        }
    }

  private:
    Tensor rows_of(const std::vector<const Tap*>& tuple) const {
        Tensor index = tuple[0]->index;
        Tensor is_inside = tuple[0]->is_inside;
        for (size_t axis = 1; axis < tuple.size(); ++axis) {
            index = index.mul(sizes_[axis]).add(tuple[axis]->index);
            is_inside = is_inside.logical_and(tuple[axis]->is_inside);
        }
        return else_number(is_inside, index.add(first_), count_).flatten();
    }

    at::IntArrayRef sizes_;
    int64_t count_;
    std::vector<std::vector<Tap>> taps_;
    Tensor first_;
};

// The product of the weights of all axes but one, whose derivative takes the place of its weight; undefined for one.
Tensor weight_of(const std::vector<const Tap*>& tuple, size_t derived = SIZE_MAX) {
    Tensor product;
    for (size_t axis = 0; axis < tuple.size(); ++axis) {
        const Tensor& factor = axis == derived ? tuple[axis]->slope : tuple[axis]->weight;
        product = !product.defined() ? factor : factor.defined() ? product.mul(factor) : product;
    }
    return product;
}

Tensor weighed(const Tensor& rows, const Tensor& weight) {
    return weight.defined() ? rows.mul(weight.reshape({-1, 1})) : rows;
}

// Channels last, as a matrix; and back.
Tensor as_rows(const Tensor& images) { return images.movedim(1, -1).reshape({-1, images.size(1)}); }
Tensor as_images(const Tensor& rows, at::DimVector shape) {
    const int64_t channels = shape[1];
    shape.erase(shape.begin() + 1);
    shape.push_back(channels);
    return rows.reshape(shape).movedim(-1, 1).contiguous();
}

Sampling checked(const Tensor& input, const Tensor& grid, int64_t mode, int64_t padding, bool align_corners) {
    at::native::check_grid_sampler_common(input, grid);
    if (input.dim() == 5) {
        at::native::check_grid_sampler_3d(input, grid, mode);
    } else {
        at::native::check_grid_sampler_2d(input, grid);
    }
    require_floating(input.scalar_type());
    require_same_dtype(input, grid);
    return {static_cast<GridSamplerInterpolation>(mode), static_cast<GridSamplerPadding>(padding), align_corners};
}

at::DimVector shape_of(const Tensor& input, const Tensor& grid) {
    at::DimVector shape(grid.sizes().slice(0, grid.dim() - 1));
    shape.insert(shape.begin() + 1, input.size(1));
    return shape;
}

}  // namespace

Tensor grid_sampler(const Tensor& input, const Tensor& grid, int64_t interpolation_mode, int64_t padding_mode,
                    bool align_corners) {
    const Sampling sampling = checked(input, grid, interpolation_mode, padding_mode, align_corners);
    const at::DimVector shape = shape_of(input, grid);
    if (sampling.mode != GridSamplerInterpolation::Bicubic && sampling.padding == GridSamplerPadding::Zeros &&
        !align_corners) {
        Tensor out = at::empty(shape, input.options());
        Call call(input);
        call("diopiGridSample", diopiGridSample, Output(out), Input(call, input), Input(call, grid),
             sampling.mode == GridSamplerInterpolation::Nearest ? "nearest" : "bilinear");
        return out;
    }
    const Samples samples(input, grid, sampling);
    const Tensor rows = samples.zero_rows(input.size(1), input.options());
    samples.elements(rows).copy_(as_rows(input));
    Tensor sum;
    samples.each([&](const std::vector<const Tap*>& tuple, const Tensor& index) {
        const Tensor summand = weighed(rows.index_select(0, index), weight_of(tuple));
        sum = sum.defined() ? sum.add_(summand) : summand;
    });
    return as_images(sum, shape).to(input.scalar_type());
}

std::tuple<Tensor, Tensor> grid_sampler_backward(const Tensor& grad_output, const Tensor& input, const Tensor& grid,
                                                 int64_t interpolation_mode, int64_t padding_mode, bool align_corners,
                                                 std::array<bool, 2> output_mask) {
    const Sampling sampling = checked(input, grid, interpolation_mode, padding_mode, align_corners);
    const Samples samples(input, grid, sampling);
    const Tensor rows = samples.zero_rows(input.size(1), input.options());
    samples.elements(rows).copy_(as_rows(input));
    const Tensor gradients = as_rows(grad_output).to(rows.scalar_type());
    Tensor of_input = output_mask[0] ? at::zeros_like(rows) : Tensor();
    const Tensor of_grid = at::zeros(grid.sizes(), rows.options());
    samples.each([&](const std::vector<const Tap*>& tuple, const Tensor& index) {
        if (output_mask[0]) {
            of_input.index_add_(0, index, weighed(gradients, weight_of(tuple)));
        }
        if (output_mask[1] && sampling.mode != GridSamplerInterpolation::Nearest) {
            const Tensor product =
                rows.index_select(0, index).mul(gradients).sum(1).view(grid.sizes().slice(0, grid.dim() - 1));
            for (size_t axis = 0; axis < tuple.size(); ++axis) {
                const auto column = static_cast<int64_t>(tuple.size() - 1 - axis);
                of_grid.select(-1, column).add_(product.mul(weight_of(tuple, axis)));
            }
        }
    });
    if (output_mask[0]) {
        of_input = as_images(samples.elements(of_input), at::DimVector(input.sizes())).to(input.scalar_type());
    }
    return {of_input, of_grid.to(grid.scalar_type())};
}

}  // namespace diopigen::backend::kernels
