#include <diopigen_kernels/elements.h>
#include <diopigen_kernels/operators.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "launched.h"

namespace diopigen::kernels::operators {
namespace {

// The indices first, first + step ... below last of one dimension.
struct Range {
    int64_t first, last, step;
};

int64_t planes_of(const Shape& shape) { return product(Shape(shape.begin(), shape.end() - 2)); }

// Windows that slide over the last two dimensions of an image.
struct Sliding {
    Shape image, result;
    Shape size, stride, padding, dilation;

    // Whether the window fits the image, and the results the windows.
    bool isSound(bool rounds_up) const {
        if (image.size() < 3 || image.size() > 4 || size.size() != 2 || stride.size() != 2 || padding.size() != 2 ||
            dilation.size() != 2) {
            return false;
        }
        Shape expected = image;
        for (std::size_t d = 0; d < 2; ++d) {
            int64_t& length = expected[image.size() - 2 + d];
            const int64_t extent = dilation[d] * (size[d] - 1) + 1, whole = length;
            const int64_t left = whole + 2 * padding[d] - extent;
            if (size[d] < 1 || stride[d] < 1 || dilation[d] < 1 || padding[d] < 0 || padding[d] > extent / 2 ||
                left < 0) {
                return false;
            }
            length = (left + (rounds_up ? stride[d] - 1 : 0)) / stride[d] + 1;
            length -= rounds_up && (length - 1) * stride[d] >= whole + padding[d] ? 1 : 0;
        }
        return result == expected;
    }

    // What of a window, by its number in a dimension (0 rows, 1 columns), is in the image.
    Range range(std::size_t d, int64_t number) const {
        int64_t first = number * stride[d] - padding[d];
        const int64_t end = first + dilation[d] * (size[d] - 1) + 1, whole = image[image.size() - 2 + d];
        while (first < 0) {
            first += dilation[d];
        }
        return {first, end < whole ? end : whole, dilation[d]};
    }
};

Sliding sliding_of(const Shape& image, const Shape& result, diopiSize_t kernel_size, diopiSize_t stride,
                   diopiSize_t padding, diopiSize_t dilation) {
    const Shape size = shapeOf(kernel_size), step = shapeOf(stride);
    return {image, result, size, step.empty() ? size : step, shapeOf(padding), shapeOf(dilation)};
}

// Result 0 has the maxima of the last tensor, and the optional result 1 their positions.
Status maxima(const Launch& launch, const Call& call, const Sliding& plan, bool rounds_up) {
    if (!plan.isSound(rounds_up) || !call.haveDtype({2}, call.dtype(0)) || !call.haveShape({1}, plan.result) ||
        (call.has(1) && isReal(call.dtype(1)))) {
        return call.rejected();
    }
    return launched(call, launch, [plan](const Kernel& k) {
        withValues(k.buffer(0).dtype, [&](auto zero) {
            using Value = decltype(zero);
            const Input<Value> image(k, 2, plan.image);
            Output<Value> out(k, 0, plan.result);
            Output<int64_t> positions(k, 1, plan.result);
            const int64_t height = plan.image[plan.image.size() - 2], width = plan.image.back();
            const int64_t rows = plan.result[plan.result.size() - 2], columns = plan.result.back();
            for (int64_t i = 0; i < product(plan.result); ++i) {
                const Value* const plane = image.data() + i / (rows * columns) * height * width;
                const Range y = plan.range(0, i / columns % rows), x = plan.range(1, i % columns);
                int64_t best = -1;
                for (int64_t row = y.first; row < y.last; row += y.step) {
                    for (int64_t at = row * width + x.first; at < row * width + x.last; at += x.step) {
                        const bool is_nan = plane[at] != plane[at];
                        best = best < 0 || plane[at] > plane[best] || is_nan ? at : best;
                    }
                }
                if (best < 0) {  // a window of padding alone: the least value
                    out.data()[i] = std::numeric_limits<Value>::has_infinity ? -std::numeric_limits<Value>::infinity()
                                                                             : std::numeric_limits<Value>::lowest();
                } else {
                    out.data()[i] = plane[best];
                }
                positions.data()[i] = best;
            }
            out.finish();
            positions.finish();
        });
    });
}

// Windows that divide the last two dimensions into nearly equal parts.
struct Dividing {
    Shape image, result;

    bool isSound() const {
        return image.size() >= 3 && image.size() <= 4 && image.size() == result.size() &&
               std::equal(image.begin(), image.end() - 2, result.begin());
    }

    // `visit(result, element)` for each element of each window, and of how many the window is.
    template <typename Visit>
    void for_each(Visit visit) const {
        const int64_t height = image[image.size() - 2], width = image.back();
        const int64_t rows = result[result.size() - 2], columns = result.back();
        const auto first = [](int64_t i, int64_t count, int64_t length) { return i * length / count; };
        const auto last = [](int64_t i, int64_t count, int64_t length) { return ((i + 1) * length - 1) / count + 1; };
        for (int64_t i = 0; i < planes_of(image) * rows * columns; ++i) {
            const int64_t plane = i / (rows * columns), row = i / columns % rows, column = i % columns;
            const int64_t top = first(row, rows, height), bottom = last(row, rows, height);
            const int64_t left = first(column, columns, width), right = last(column, columns, width);
            for (int64_t y = top; y < bottom; ++y) {
                for (int64_t x = left; x < right; ++x) {
                    visit(i, (plane * height + y) * width + x, static_cast<double>((bottom - top) * (right - left)));
                }
            }
        }
    }
};

}  // namespace

Status maxPool2d(const Launch& launch, Context ctx, Out out, In input, diopiSize_t kernel_size, diopiSize_t stride,
                 diopiSize_t padding, diopiSize_t dilation, bool ceil_mode) {
    const Call call(ctx, "diopiMaxPool2d", {out, nullptr}, {input}, {1});
    const Sliding plan = sliding_of(call.shape(2), call.shape(0), kernel_size, stride, padding, dilation);
    return maxima(launch, call, plan, ceil_mode);
}

Status maxPool2dWithIndices(const Launch& launch, Context ctx, Out out, Out indices, In input, diopiSize_t kernel_size,
                            diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation, bool ceil_mode) {
    const Call call(ctx, "diopiMaxPool2dWithIndices", {out, indices}, {input});
    const Sliding plan = sliding_of(call.shape(2), call.shape(0), kernel_size, stride, padding, dilation);
    return maxima(launch, call, plan, ceil_mode);
}

Status maxPool2dBackward(const Launch& launch, Context ctx, Out grad_input, In grad_output, In input,
                         diopiSize_t kernel_size, diopiSize_t stride, diopiSize_t padding, diopiSize_t dilation,
                         bool ceil_mode, In indices) {
    const Call call(ctx, "diopiMaxPool2dBackward", {grad_input}, {grad_output, input, indices});
    const Sliding plan = sliding_of(call.shape(2), call.shape(1), kernel_size, stride, padding, dilation);
    if (!plan.isSound(ceil_mode) || !isFloat(call.dtype(2)) || !call.haveDtype({0, 1}, call.dtype(2)) ||
        !call.haveShape({0}, plan.image) || !call.haveShape({3}, plan.result) || isReal(call.dtype(3))) {
        return call.rejected();
    }
    return launched(call, launch, [plan](const Kernel& k) {
        const Values gradient = load(k, 1), positions = load(k, 3);
        const int64_t plane = product(plan.image) / planes_of(plan.image);
        const int64_t windows = product(plan.result) / planes_of(plan.result);
        Values sums(static_cast<std::size_t>(product(plan.image)));
        for (std::size_t i = 0; i < gradient.size(); ++i) {
            const auto position = static_cast<int64_t>(positions[i]);
            if (position < -1 || position >= plane) {
                throw std::out_of_range("an index is outside its plane");
            }
            if (position >= 0) {
                sums[static_cast<int64_t>(i) / windows * plane + position] += gradient[i];
            }
        }
        store(k, 0, sums);
    });
}

Status adaptiveAvgPool2d(const Launch& launch, Context ctx, Out out, In input, diopiSize_t output_size) {
    const Call call(ctx, "diopiAdaptiveAvgPool2d", {out}, {input});
    const Dividing plan{call.shape(1), call.shape(0)};
    if (!plan.isSound() || !call.isOneFloat() ||
        shapeOf(output_size) != Shape(plan.result.end() - 2, plan.result.end())) {
        return call.rejected();
    }
    return launched(call, launch, [plan](const Kernel& k) {
        const Values x = load(k, 1);
        Values sums(static_cast<std::size_t>(product(plan.result))), sizes(sums.size());
        plan.for_each([&](int64_t to, int64_t from, double size) {
            sums[to] += x[from];
            sizes[to] = size;
        });
        for (std::size_t i = 0; i < sums.size(); ++i) {
            sums[i] /= sizes[i];
        }
        store(k, 0, sums);
    });
}

Status adaptiveAvgPool2dBackward(const Launch& launch, Context ctx, Out grad_input, In grad_output, In input) {
    const Call call(ctx, "diopiAdaptiveAvgPool2dBackward", {grad_input}, {grad_output, input});
    const Dividing plan{call.shape(2), call.shape(1)};
    if (!plan.isSound() || !call.isOneFloat() || !call.haveShape({0}, plan.image)) {
        return call.rejected();
    }
    return launched(call, launch, [plan](const Kernel& k) {
        const Values gradient = load(k, 1);
        Values sums(static_cast<std::size_t>(product(plan.image)));
        plan.for_each([&](int64_t from, int64_t to, double size) { sums[to] += gradient[from] / size; });
        store(k, 0, sums);
    });
}

}  // namespace diopigen::kernels::operators
