// Deformable convolution, with a mask (Zhu et al., 2019) or without (Dai et al., 2017), for the libraries of all
// devices. `Each` is how a library calls an object for all owners of results: each(count, cost, body).
//
// Images go one after the other. For one of them the elements that the filters read are columns [channels, elements of
// a filter, positions], in double.
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_DEFORM_CONV_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_DEFORM_CONV_H_

#include "detection/bilinear.h"
#include "detection/numbers.h"
#include "detection_mmcv.h"
#include "diopi_core/kernel_checks.h"

namespace diopi::core {

// What a filter does in one dimension.
struct FilterSide {
    int64_t size;
    int64_t stride;
    int64_t pad;
    int64_t dilation;
    int64_t outputs;

    // Where element i is before it is displaced.
    DIOPI_HOST_DEVICE double start(int64_t output, int64_t i) const {
        return static_cast<double>(output * stride - pad + i * dilation);
    }
};

struct DeformSizes {
    int64_t images;
    int64_t channels;
    PixelMap map;
    int64_t filters;
    FilterSide vertical;
    FilterSide horizontal;
    int64_t groups;
    int64_t deform_groups;

    DIOPI_HOST_DEVICE int64_t elements() const { return vertical.size * horizontal.size; }
    DIOPI_HOST_DEVICE int64_t positions() const { return vertical.outputs * horizontal.outputs; }
    DIOPI_HOST_DEVICE int64_t per_group() const { return channels / groups; }
    DIOPI_HOST_DEVICE int64_t plane() const { return map.height * map.width; }
    DIOPI_HOST_DEVICE int64_t columns() const { return channels * elements() * positions(); }
    // Displacements of an image; half as many masks.
    DIOPI_HOST_DEVICE int64_t displacements() const { return 2 * deform_groups * elements() * positions(); }
};

// The displacements and masks of one image: [deform groups, elements, 2, positions] and [deform groups, elements,
// positions]; a null mask is 1.
struct Displaced {
    const double* offset;
    const double* mask;
    DeformSizes sizes;

    // What element k reads at position p; `row` counts deform groups and elements.
    DIOPI_HOST_DEVICE Around around(int64_t row, int64_t p) const {
        const int64_t k = row % sizes.elements();
        const double* by = offset + 2 * row * sizes.positions() + p;
        const double y = sizes.vertical.start(p / sizes.horizontal.outputs, k / sizes.horizontal.size) + by[0];
        const double x =
            sizes.horizontal.start(p % sizes.horizontal.outputs, k % sizes.horizontal.size) + by[sizes.positions()];
        return {y, x, sizes.map};
    }
    DIOPI_HOST_DEVICE double factor(int64_t row, int64_t p) const {
        return mask == nullptr ? 1 : mask[row * sizes.positions() + p];
    }
    // The row of a channel and element.
    DIOPI_HOST_DEVICE int64_t row(int64_t channel, int64_t k) const {
        return channel / (sizes.channels / sizes.deform_groups) * sizes.elements() + k;
    }
};

// An owner for each element of the columns.
struct ReadColumns {
    double* columns;
    const double* image;
    Displaced by;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t p = at % by.sizes.positions();
        const int64_t k = at / by.sizes.positions() % by.sizes.elements();
        const int64_t channel = at / (by.sizes.positions() * by.sizes.elements());
        const int64_t row = by.row(channel, k);
        columns[at] = by.factor(row, p) * by.around(row, p).value(image + channel * by.sizes.plane());
    }
};

// An owner for each response of an image, [filters, positions].
struct Respond {
    double* to;
    const double* columns;
    const double* weight;
    const double* bias;  // null for none
    DeformSizes sizes;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t p = at % sizes.positions();
        const int64_t filter = at / sizes.positions();
        const int64_t count = sizes.per_group() * sizes.elements();
        const double* from = columns + filter / (sizes.filters / sizes.groups) * count * sizes.positions() + p;
        double sum = 0;
        for (int64_t i = 0; i < count; ++i) {
            sum += weight[filter * count + i] * from[i * sizes.positions()];
        }
        to[at] = bias == nullptr ? sum : sum + bias[filter];
    }
};

// An owner for each gradient of the columns.
struct ColumnGradients {
    double* columns;
    const double* gradient;
    const double* weight;
    DeformSizes sizes;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t p = at % sizes.positions();
        const int64_t i = at / sizes.positions();  // counts channels and elements
        const int64_t count = sizes.per_group() * sizes.elements();
        const int64_t of_group = sizes.filters / sizes.groups;
        const int64_t first = i / count * of_group;
        double sum = 0;
        for (int64_t filter = first; filter < first + of_group; ++filter) {
            sum += weight[filter * count + i % count] * gradient[filter * sizes.positions() + p];
        }
        columns[at] = sum;
    }
};

// An owner for each channel of an image.
struct AddImageGradients {
    double* sums;
    const double* columns;
    Displaced by;

    DIOPI_HOST_DEVICE void operator()(int64_t channel) const {
        const int64_t count = by.sizes.elements() * by.sizes.positions();
        for (int64_t i = 0; i < count; ++i) {
            const int64_t p = i % by.sizes.positions();
            const int64_t row = by.row(channel, i / by.sizes.positions());
            by.around(row, p).add(sums + channel * by.sizes.plane(), by.factor(row, p) * columns[channel * count + i]);
        }
    }
};

// An owner for each pair of displacements of an image.
struct DisplacementGradients {
    double* of_offset;
    double* of_mask;  // null where there is no mask
    const double* image;
    const double* columns;
    Displaced by;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t p = at % by.sizes.positions();
        const int64_t row = at / by.sizes.positions();
        const int64_t k = row % by.sizes.elements();
        const int64_t of_group = by.sizes.channels / by.sizes.deform_groups;
        const int64_t first = row / by.sizes.elements() * of_group;
        const Around around = by.around(row, p);
        double down = 0;
        double right = 0;
        double factor = 0;
        for (int64_t channel = first; channel < first + of_group; ++channel) {
            const double* plane = image + channel * by.sizes.plane();
            const double gradient = columns[(channel * by.sizes.elements() + k) * by.sizes.positions() + p];
            down += gradient * around.slope_down(plane);
            right += gradient * around.slope_right(plane);
            factor += gradient * around.value(plane);
        }
        double* to = of_offset + 2 * row * by.sizes.positions() + p;
        to[0] = by.factor(row, p) * down;
        to[by.sizes.positions()] = by.factor(row, p) * right;
        if (of_mask != nullptr) {
            of_mask[at] = factor;
        }
    }
};

// An owner for each element of the filters.
struct AddFilterGradients {
    double* sums;
    const double* columns;
    const double* gradient;
    double scale;
    DeformSizes sizes;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t count = sizes.per_group() * sizes.elements();
        const int64_t filter = at / count;
        const int64_t i = filter / (sizes.filters / sizes.groups) * count + at % count;
        double sum = 0;
        for (int64_t p = 0; p < sizes.positions(); ++p) {
            sum += gradient[filter * sizes.positions() + p] * columns[i * sizes.positions() + p];
        }
        sums[at] += scale * sum;
    }
};

struct AddBiasGradients {
    double* sums;
    const double* gradient;
    DeformSizes sizes;

    DIOPI_HOST_DEVICE void operator()(int64_t filter) const {
        double sum = 0;
        for (int64_t p = 0; p < sizes.positions(); ++p) {
            sum += gradient[filter * sizes.positions() + p];
        }
        sums[filter] += sum;
    }
};

// Operands of one call; a null tensor of mask or bias is not there.
struct DeformOperands {
    Input<double> input;
    Input<double> offset;
    Input<double> mask;
    DeformSizes sizes;

    DeformOperands(const Tensor& images, const Tensor& displacements, const Tensor& factors, const DeformSizes& of)
        : input(images), offset(displacements), mask(factors), sizes(of) {}

    const double* image(int64_t n) const { return input.data() + n * sizes.channels * sizes.plane(); }
    Displaced displaced(int64_t n) const {
        return {offset.data() + n * sizes.displacements(), mask ? mask.data() + n * sizes.displacements() / 2 : nullptr,
                sizes};
    }
};

inline Tensor bias_where(bool is_there, const Tensor& bias) { return is_there ? bias : Tensor{}; }

template <typename Each>
void deform_forward(const Each& each, const Tensor& output, const Tensor& weight, const Tensor& bias,
                    const DeformOperands& operands) {
    const DeformSizes& sizes = operands.sizes;
    const Input<double> filters(weight);
    const Input<double> summands(bias);
    const Output<double> to(output);
    const Numbers columns(sizes.columns());
    const int64_t responses = sizes.filters * sizes.positions();
    for (int64_t n = 0; n < sizes.images; ++n) {
        each(sizes.columns(), 16, ReadColumns{columns.data(), operands.image(n), operands.displaced(n)});
        each(responses, sizes.per_group() * sizes.elements(),
             Respond{to.data() + n * responses, columns.data(), filters.data(), summands.data(), sizes});
    }
    to.store();
}

// Gradients of images, displacements and mask (null where there is none).
template <typename Each>
void deform_backward_input(const Each& each, const Tensor& grad_input, const Tensor& grad_offset,
                           const Tensor& grad_mask, const Tensor& grad_output, const Tensor& weight,
                           const DeformOperands& operands) {
    const DeformSizes& sizes = operands.sizes;
    const Input<double> filters(weight);
    const Input<double> gradient(grad_output);
    const Sums sums(grad_input);
    const Output<double> of_offset(grad_offset);
    const Output<double> of_mask(grad_mask);
    const Numbers columns(sizes.columns());
    const int64_t pairs = sizes.displacements() / 2;
    for (int64_t n = 0; n < sizes.images; ++n) {
        const double* of_image = gradient.data() + n * sizes.filters * sizes.positions();
        each(sizes.columns(), sizes.filters / sizes.groups,
             ColumnGradients{columns.data(), of_image, filters.data(), sizes});
        each(
            sizes.channels, 16 * sizes.elements() * sizes.positions(),
            AddImageGradients{sums.data() + n * sizes.channels * sizes.plane(), columns.data(), operands.displaced(n)});
        each(pairs, 16 * sizes.channels / sizes.deform_groups,
             DisplacementGradients{of_offset.data() + 2 * n * pairs,
                                   grad_mask.is_null() ? nullptr : of_mask.data() + n * pairs, operands.image(n),
                                   columns.data(), operands.displaced(n)});
    }
    sums.store();
    of_offset.store();
    of_mask.store();
}

// Gradients of filters and bias (null where there is none).
template <typename Each>
void deform_backward_filters(const Each& each, const Tensor& grad_weight, const Tensor& grad_bias,
                             const Tensor& grad_output, float scale, const DeformOperands& operands) {
    const DeformSizes& sizes = operands.sizes;
    const Input<double> gradient(grad_output);
    const Sums of_weight(grad_weight);
    const Sums of_bias(grad_bias);
    const Numbers columns(sizes.columns());
    for (int64_t n = 0; n < sizes.images; ++n) {
        const double* of_image = gradient.data() + n * sizes.filters * sizes.positions();
        each(sizes.columns(), 16, ReadColumns{columns.data(), operands.image(n), operands.displaced(n)});
        each(grad_weight.numel, sizes.positions(),
             AddFilterGradients{of_weight.data(), columns.data(), of_image, scale, sizes});
        if (!grad_bias.is_null()) {
            each(sizes.filters, sizes.positions(), AddBiasGradients{of_bias.data(), of_image, sizes});
        }
    }
    of_weight.store();
    of_bias.store();
}

template <typename Args>
DeformSizes deform_sizes(const Args& args, const Tensor& out) {
    return {args.input.shape[0],
            args.input.shape[1],
            PixelMap{args.input.shape[2], args.input.shape[3], 1},
            out.shape[1],
            FilterSide{args.kH, args.dH, args.padH, args.dilationH, out.shape[2]},
            FilterSide{args.kW, args.dW, args.padW, args.dilationW, out.shape[3]},
            args.groups,
            args.deform_groups};
}

template <typename Args>
DeformSizes modulated_sizes(const Args& args, const Tensor& out) {
    return {args.input.shape[0],
            args.input.shape[1],
            PixelMap{args.input.shape[2], args.input.shape[3], 1},
            out.shape[1],
            FilterSide{args.kernel_h, args.stride_h, args.pad_h, args.dilation_h, out.shape[2]},
            FilterSide{args.kernel_w, args.stride_w, args.pad_w, args.dilation_w, out.shape[3]},
            args.group,
            args.deformable_group};
}

template <typename Each>
void deform_conv(const Each& each, const kernels::DeformConvMmcvArgs& args) {
    require_apart(args.output, {&args.input, &args.weight, &args.offset});
    deform_forward(each, args.output, args.weight, Tensor{},
                   {args.input, args.offset, Tensor{}, deform_sizes(args, args.output)});
}

template <typename Each>
void deform_conv_backward_input(const Each& each, const kernels::DeformConvBackwardInputMmcvArgs& args) {
    require_separate({&args.gradInput, &args.gradOffset}, {&args.input, &args.offset, &args.gradOutput, &args.weight});
    deform_backward_input(each, args.gradInput, args.gradOffset, Tensor{}, args.gradOutput, args.weight,
                          {args.input, args.offset, Tensor{}, deform_sizes(args, args.gradOutput)});
}

template <typename Each>
void deform_conv_backward_filters(const Each& each, const kernels::DeformConvBackwardParametersMmcvArgs& args) {
    require_apart(args.gradWeight, {&args.gradOutput, &args.input, &args.offset});
    deform_backward_filters(each, args.gradWeight, Tensor{}, args.gradOutput, args.scale,
                            {args.input, args.offset, Tensor{}, deform_sizes(args, args.gradOutput)});
}

template <typename Each>
void modulated_deform_conv(const Each& each, const kernels::ModulatedDeformConvMmcvArgs& args) {
    require_apart(args.output, {&args.input, &args.weight, &args.bias, &args.offset, &args.mask});
    deform_forward(each, args.output, args.weight, bias_where(args.with_bias, args.bias),
                   {args.input, args.offset, args.mask, modulated_sizes(args, args.output)});
}

template <typename Each>
void modulated_deform_conv_backward(const Each& each, const kernels::ModulatedDeformConvBackwardMmcvArgs& args) {
    require_separate({&args.grad_input, &args.grad_weight, &args.grad_bias, &args.grad_offset, &args.grad_mask},
                     {&args.input, &args.weight, &args.bias, &args.offset, &args.mask, &args.grad_output});
    const DeformOperands operands(args.input, args.offset, args.mask, modulated_sizes(args, args.grad_output));
    deform_backward_input(each, args.grad_input, args.grad_offset, args.grad_mask, args.grad_output, args.weight,
                          operands);
    deform_backward_filters(each, args.grad_weight, bias_where(args.with_bias, args.grad_bias), args.grad_output, 1,
                            operands);
}

}  // namespace diopi::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_DEFORM_CONV_H_
