// Deformable convolution, with a mask (Zhu et al., 2019) or without (Dai et al., 2017), for the libraries of all
// devices. `Each` is how a library calls an object for all owners of results: each(count, cost, body).
//
// Images go one after the other. For one of them the elements that the filters read are columns [channels, elements of
// a filter, positions], of T: float, or double for float64. Products with them are those of matrices.
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_DEFORM_CONV_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_DEFORM_CONV_H_

#include "detection.h"
#include "detection/bilinear.h"
#include "detection/numbers.h"
#include "diopi_core/gemm.h"
#include "diopi_core/kernel_checks.h"

namespace diopigen::core {

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
    DIOPI_HOST_DEVICE int64_t of_deform_group() const { return channels / deform_groups; }
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
        return channel / sizes.of_deform_group() * sizes.elements() + k;
    }
};

// An owner for each row and position: of the elements of all channels there.
template <typename T>
struct ReadColumns {
    T* columns;
    const double* image;
    Displaced by;

    struct Row {
        const ReadColumns& of;
        int64_t number;

        DIOPI_HOST_DEVICE void operator()(int64_t p) const {
            const DeformSizes& sizes = of.by.sizes;
            const int64_t first = number / sizes.elements() * sizes.of_deform_group();
            const int64_t k = number % sizes.elements();
            const double factor = of.by.factor(number, p);
            const Around around = of.by.around(number, p);
            for (int64_t channel = first; channel < first + sizes.of_deform_group(); ++channel) {
                of.columns[(channel * sizes.elements() + k) * sizes.positions() + p] =
                    static_cast<T>(factor * around.value(of.image + channel * sizes.plane()));
            }
        }
    };

    DIOPI_HOST_DEVICE Row row(int64_t k) const { return {*this, k}; }
};

// The columns of one image.
template <typename T, typename Each>
void read_columns(const Each& each, const Tensor& columns, const double* image, const Displaced& by) {
    each.rows(by.sizes.deform_groups * by.sizes.elements(), by.sizes.positions(), 16 * by.sizes.of_deform_group(),
              ReadColumns<T>{columns.elements<T>(), image, by});
}

// An owner for each response, [images, filters, positions].
template <typename T>
struct AddBias {
    T* to;
    const double* bias;
    DeformSizes sizes;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        to[at] = static_cast<T>(to[at] + bias[at / sizes.positions() % sizes.filters]);
    }
};

// An owner for each channel of an image.
template <typename T>
struct AddImageGradients {
    double* sums;
    const T* columns;  // their gradients
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
template <typename T>
struct DisplacementGradients {
    double* of_offset;
    double* of_mask;  // null where there is no mask
    const double* image;
    const T* columns;  // their gradients
    Displaced by;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const int64_t p = at % by.sizes.positions();
        const int64_t row = at / by.sizes.positions();
        const int64_t k = row % by.sizes.elements();
        const int64_t of_group = by.sizes.of_deform_group();
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

// An owner for each filter: of the gradients of one image.
template <typename T>
struct AddBiasGradients {
    double* sums;
    const T* gradient;
    DeformSizes sizes;

    DIOPI_HOST_DEVICE void operator()(int64_t filter) const {
        double sum = 0;
        for (int64_t p = 0; p < sizes.positions(); ++p) {
            sum += gradient[filter * sizes.positions() + p];
        }
        sums[filter] += sum;
    }
};

// A contiguous tensor with another shape of as many elements, from an element on.
inline View reshaped(const Tensor& tensor, const std::vector<int64_t>& shape, int64_t first = 0) {
    std::vector<int64_t> strides(shape.size(), 1);
    for (size_t i = shape.size(); i-- > 1;) {
        strides[i - 1] = strides[i] * shape[i];
    }
    return View(tensor, shape, strides, first);
}

// A copy of a tensor in the type T.
template <typename T>
class Converted {
  public:
    explicit Converted(const Tensor& tensor) : copy_(shape_of(tensor), dtype_of<T>, tensor) {
        copy_elements(copy_.tensor(), tensor);
    }
    const Tensor& tensor() const { return copy_.tensor(); }
    T* data() const { return copy_.tensor().template elements<T>(); }

  private:
    Temporary copy_;
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

// The matrices of one image, in groups. The sizes must outlive it.
struct DeformMatrices {
    const DeformSizes& sizes;

    int64_t inner() const { return sizes.per_group() * sizes.elements(); }
    int64_t responses() const { return sizes.filters * sizes.positions(); }
    View filters(const Tensor& weight) const {
        return reshaped(weight, {sizes.groups, sizes.filters / sizes.groups, inner()});
    }
    View columns(const Tensor& all) const { return reshaped(all, {sizes.groups, inner(), sizes.positions()}); }
    View of_image(const Tensor& output, int64_t n) const {
        return reshaped(output, {sizes.groups, sizes.filters / sizes.groups, sizes.positions()}, n * responses());
    }
};

inline View transposed(const View& matrices) { return permuted(matrices.tensor(), {0, 2, 1}); }

template <typename T, typename Each>
void deform_forward(const Each& each, const Tensor& output, const Tensor& weight, const Tensor& bias,
                    const DeformOperands& operands) {
    const DeformSizes& sizes = operands.sizes;
    const DeformMatrices matrices{sizes};
    const Converted<T> filters(weight);
    const Input<double> summands(bias);
    const Temporary columns({sizes.columns()}, dtype_of<T>, weight);
    const Temporary responses(shape_of(output), dtype_of<T>, weight);
    const View by_filter = matrices.filters(filters.tensor());
    const View by_column = matrices.columns(columns.tensor());
    for (int64_t n = 0; n < sizes.images; ++n) {
        read_columns<T>(each, columns.tensor(), operands.image(n), operands.displaced(n));
        const View of_image = matrices.of_image(responses.tensor(), n);
        multiply_tensors(of_image.tensor(), by_filter.tensor(), by_column.tensor());
    }
    if (!bias.is_null()) {
        each(output.numel, 4, AddBias<T>{responses.tensor().elements<T>(), summands.data(), sizes});
    }
    copy_elements(output, responses.tensor());
}

// Gradients of images, displacements and mask (null where there is none).
template <typename T, typename Each>
void deform_backward_input(const Each& each, const Tensor& grad_input, const Tensor& grad_offset,
                           const Tensor& grad_mask, const Tensor& grad_output, const Tensor& weight,
                           const DeformOperands& operands) {
    const DeformSizes& sizes = operands.sizes;
    const DeformMatrices matrices{sizes};
    const Converted<T> filters(weight);
    const Converted<T> gradient(grad_output);
    const Sums sums(grad_input);
    const Output<double> of_offset(grad_offset);
    const Output<double> of_mask(grad_mask);
    const Temporary columns({sizes.columns()}, dtype_of<T>, weight);
    const View by_filter = transposed(matrices.filters(filters.tensor()));
    const View by_column = matrices.columns(columns.tensor());
    const T* const of_columns = columns.tensor().elements<T>();
    const int64_t pairs = sizes.displacements() / 2;
    for (int64_t n = 0; n < sizes.images; ++n) {
        const View of_image = matrices.of_image(gradient.tensor(), n);
        multiply_tensors(by_column.tensor(), by_filter.tensor(), of_image.tensor());
        each(sizes.channels, 16 * sizes.elements() * sizes.positions(),
             AddImageGradients<T>{sums.data() + n * sizes.channels * sizes.plane(), of_columns, operands.displaced(n)});
        each(pairs, 16 * sizes.channels / sizes.deform_groups,
             DisplacementGradients<T>{of_offset.data() + 2 * n * pairs,
                                      grad_mask.is_null() ? nullptr : of_mask.data() + n * pairs, operands.image(n),
                                      of_columns, operands.displaced(n)});
    }
    sums.store();
    of_offset.store();
    of_mask.store();
}

// Gradients of filters and bias (null where there is none).
template <typename T, typename Each>
void deform_backward_filters(const Each& each, const Tensor& grad_weight, const Tensor& grad_bias,
                             const Tensor& grad_output, float scale, const DeformOperands& operands) {
    const DeformSizes& sizes = operands.sizes;
    const DeformMatrices matrices{sizes};
    const Converted<T> gradient(grad_output);
    const Converted<T> of_weight(grad_weight);
    const Sums of_bias(grad_bias);
    const Temporary columns({sizes.columns()}, dtype_of<T>, grad_weight);
    const View by_filter = matrices.filters(of_weight.tensor());
    const View by_column = transposed(matrices.columns(columns.tensor()));
    for (int64_t n = 0; n < sizes.images; ++n) {
        read_columns<T>(each, columns.tensor(), operands.image(n), operands.displaced(n));
        const View of_image = matrices.of_image(gradient.tensor(), n);
        multiply_tensors(by_filter.tensor(), of_image.tensor(), by_column.tensor(), Number::of(scale), Number::of(1),
                         by_filter.tensor());
        if (!grad_bias.is_null()) {
            each(sizes.filters, sizes.positions(),
                 AddBiasGradients<T>{of_bias.data(), gradient.data() + n * matrices.responses(), sizes});
        }
    }
    copy_elements(grad_weight, of_weight.tensor());
    of_bias.store();
}

template <typename Args>
DeformSizes sizes_of(const Args& args, const Tensor& out, const FilterSide& vertical, const FilterSide& horizontal,
                     int64_t groups, int64_t offset_groups) {
    const PixelMap map{args.input.shape[2], args.input.shape[3], 1};
    return {args.input.shape[0], args.input.shape[1], map, out.shape[1], vertical, horizontal, groups, offset_groups};
}

template <typename Args>
DeformSizes deform_sizes(const Args& args, const Tensor& out) {
    return sizes_of(args, out, {args.kH, args.dH, args.padH, args.dilationH, out.shape[2]},
                    {args.kW, args.dW, args.padW, args.dilationW, out.shape[3]}, args.groups, args.deform_groups);
}

template <typename Args>
DeformSizes modulated_sizes(const Args& args, const Tensor& out) {
    return sizes_of(args, out, {args.kernel_h, args.stride_h, args.pad_h, args.dilation_h, out.shape[2]},
                    {args.kernel_w, args.stride_w, args.pad_w, args.dilation_w, out.shape[3]}, args.group,
                    args.deformable_group);
}

template <typename Each>
void deform_conv(const Each& each, const entry::DeformConvMmcvArgs& args) {
    require_apart(args.output, {&args.input, &args.weight, &args.offset});
    const DeformOperands operands(args.input, args.offset, Tensor{}, deform_sizes(args, args.output));
    dispatch_compute<kFloating>(args.input.dtype, [&](auto sample) {
        deform_forward<decltype(sample)>(each, args.output, args.weight, Tensor{}, operands);
    });
}

template <typename Each>
void deform_conv_backward_input(const Each& each, const entry::DeformConvBackwardInputMmcvArgs& args) {
    require_separate({&args.gradInput, &args.gradOffset}, {&args.input, &args.offset, &args.gradOutput, &args.weight});
    const DeformOperands operands(args.input, args.offset, Tensor{}, deform_sizes(args, args.gradOutput));
    dispatch_compute<kFloating>(args.input.dtype, [&](auto sample) {
        deform_backward_input<decltype(sample)>(each, args.gradInput, args.gradOffset, Tensor{}, args.gradOutput,
                                                args.weight, operands);
    });
}

template <typename Each>
void deform_conv_backward_filters(const Each& each, const entry::DeformConvBackwardParametersMmcvArgs& args) {
    require_apart(args.gradWeight, {&args.gradOutput, &args.input, &args.offset});
    const DeformOperands operands(args.input, args.offset, Tensor{}, deform_sizes(args, args.gradOutput));
    dispatch_compute<kFloating>(args.input.dtype, [&](auto sample) {
        deform_backward_filters<decltype(sample)>(each, args.gradWeight, Tensor{}, args.gradOutput, args.scale,
                                                  operands);
    });
}

template <typename Each>
void modulated_deform_conv(const Each& each, const entry::ModulatedDeformConvMmcvArgs& args) {
    require_apart(args.output, {&args.input, &args.weight, &args.bias, &args.offset, &args.mask});
    const DeformOperands operands(args.input, args.offset, args.mask, modulated_sizes(args, args.output));
    const Tensor bias = bias_where(args.with_bias, args.bias);
    dispatch_compute<kFloating>(args.input.dtype, [&](auto sample) {
        deform_forward<decltype(sample)>(each, args.output, args.weight, bias, operands);
    });
}

template <typename Each>
void modulated_deform_conv_backward(const Each& each, const entry::ModulatedDeformConvBackwardMmcvArgs& args) {
    require_separate({&args.grad_input, &args.grad_weight, &args.grad_bias, &args.grad_offset, &args.grad_mask},
                     {&args.input, &args.weight, &args.bias, &args.offset, &args.mask, &args.grad_output});
    const DeformOperands operands(args.input, args.offset, args.mask, modulated_sizes(args, args.grad_output));
    const Tensor grad_bias = bias_where(args.with_bias, args.grad_bias);
    dispatch_compute<kFloating>(args.input.dtype, [&](auto sample) {
        using T = decltype(sample);
        deform_backward_input<T>(each, args.grad_input, args.grad_offset, args.grad_mask, args.grad_output, args.weight,
                                 operands);
        deform_backward_filters<T>(each, args.grad_weight, grad_bias, args.grad_output, 1, operands);
    });
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_DEFORM_CONV_H_
