// Correlation of two feature maps, for the libraries of all devices. `Each` is how a library calls an object for all
// owners of results: each(count, cost, body).
#ifndef DIOPI_CORE_FUNCTIONS_DETECTION_CORRELATION_H_
#define DIOPI_CORE_FUNCTIONS_DETECTION_CORRELATION_H_

#include <algorithm>

#include "detection.h"
#include "detection/map_element.h"
#include "detection/numbers.h"
#include "diopi_core/kernel_checks.h"

namespace diopigen::core {

// ---- Correlation (FlowNet, Dosovitskiy et al., 2015). ----

// One dimension of windows that are displaced.
struct DisplacedSide {
    int64_t size;  // of the maps
    int64_t outputs;
    int64_t window;
    int64_t patch;  // number of displacements
    int64_t pad;
    int64_t stride;
    int64_t dilation;
    int64_t patch_dilation;

    // Where element i of a window is on the first map.
    DIOPI_HOST_DEVICE int64_t own(int64_t output, int64_t i) const { return output * stride - pad + i * dilation; }
    DIOPI_HOST_DEVICE int64_t displacement(int64_t number) const { return (number - patch / 2) * patch_dilation; }
    DIOPI_HOST_DEVICE bool has(int64_t position) const { return position >= 0 && position < size; }
    // The output whose element i is on a position of the first map; -1 where there is none.
    DIOPI_HOST_DEVICE int64_t output(int64_t position, int64_t i) const {
        const int64_t start = position + pad - i * dilation;
        return start >= 0 && start % stride == 0 && start / stride < outputs ? start / stride : -1;
    }
};

struct Correlation {
    int64_t channels;
    DisplacedSide vertical;
    DisplacedSide horizontal;

    DIOPI_HOST_DEVICE int64_t plane() const { return vertical.size * horizontal.size; }
    DIOPI_HOST_DEVICE int64_t elements() const { return vertical.window * horizontal.window; }
    DIOPI_HOST_DEVICE int64_t patches() const { return vertical.patch * horizontal.patch; }
    // The result of a displacement at a row and column.
    DIOPI_HOST_DEVICE int64_t result(int64_t image, int64_t patch, int64_t row, int64_t column) const {
        return ((image * patches() + patch) * vertical.outputs + row) * horizontal.outputs + column;
    }
};

// An owner for each result, [images, displacements down, displacements right, rows, columns].
struct Correlate {
    double* to;
    const double* first;
    const double* second;
    Correlation by;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const MapElement own(at, by.patches(), by.vertical.outputs, by.horizontal.outputs);
        const int64_t down = by.vertical.displacement(own.channel / by.horizontal.patch);
        const int64_t right = by.horizontal.displacement(own.channel % by.horizontal.patch);
        double sum = 0;
        for (int64_t k = 0; k < by.elements(); ++k) {
            const int64_t y = by.vertical.own(own.row, k / by.horizontal.window);
            const int64_t x = by.horizontal.own(own.column, k % by.horizontal.window);
            if (!by.vertical.has(y) || !by.vertical.has(y + down) || !by.horizontal.has(x) ||
                !by.horizontal.has(x + right)) {
                continue;
            }
            const int64_t image = own.image * by.channels * by.plane();
            const double* a = first + image + y * by.horizontal.size + x;
            const double* b = second + image + (y + down) * by.horizontal.size + x + right;
            for (int64_t channel = 0; channel < by.channels; ++channel) {
                sum += a[channel * by.plane()] * b[channel * by.plane()];
            }
        }
        to[at] = sum;
    }
};

// An owner for each element of the first map, or of the second (`sign` 1 and -1): of all products that it is in.
struct CorrelationGradient {
    double* to;
    const double* other;
    const double* gradient;
    int64_t sign;
    Correlation by;

    DIOPI_HOST_DEVICE void operator()(int64_t at) const {
        const MapElement own(at, by.channels, by.vertical.size, by.horizontal.size);
        const double* plane = other + at / by.plane() * by.plane();
        double sum = 0;
        for (int64_t patch = 0; patch < by.patches(); ++patch) {
            const int64_t down = sign * by.vertical.displacement(patch / by.horizontal.patch);
            const int64_t right = sign * by.horizontal.displacement(patch % by.horizontal.patch);
            if (!by.vertical.has(own.row + down) || !by.horizontal.has(own.column + right)) {
                continue;
            }
            // Windows stay in place on the first map.
            const int64_t y = sign > 0 ? own.row : own.row + down;
            const int64_t x = sign > 0 ? own.column : own.column + right;
            double products = 0;
            for (int64_t k = 0; k < by.elements(); ++k) {
                const int64_t i = by.vertical.output(y, k / by.horizontal.window);
                const int64_t j = by.horizontal.output(x, k % by.horizontal.window);
                products += i < 0 || j < 0 ? 0 : gradient[by.result(own.image, patch, i, j)];
            }
            sum += products * plane[(own.row + down) * by.horizontal.size + own.column + right];
        }
        to[at] = sum;
    }
};

template <typename Args>
Correlation correlation_of(const Args& args, const Tensor& out) {
    const int64_t* shape = args.input1.shape;
    // Displacements by the size of the maps or more are outside, however large.
    const int64_t down = std::min(args.dilation_patchH, shape[2] + 1);
    const int64_t right = std::min(args.dilation_patchW, shape[3] + 1);
    return {shape[1],
            {shape[2], out.shape[3], args.kH, args.patchH, args.padH, args.dH, args.dilationH, down},
            {shape[3], out.shape[4], args.kW, args.patchW, args.padW, args.dW, args.dilationW, right}};
}

template <typename Each>
void correlation(const Each& each, const entry::CorrelationMmcvArgs& args) {
    require_apart(args.output, {&args.input1, &args.input2});
    const Correlation by = correlation_of(args, args.output);
    const Input<double> first(args.input1);
    const Input<double> second(args.input2);
    const Output<double> to(args.output);
    each(args.output.numel, by.elements() * (8 + by.channels), Correlate{to.data(), first.data(), second.data(), by});
    to.store();
}

template <typename Each>
void correlation_backward(const Each& each, const entry::CorrelationBackwardMmcvArgs& args) {
    require_separate({&args.grad_input1, &args.grad_input2}, {&args.grad_output, &args.input1, &args.input2});
    const Correlation by = correlation_of(args, args.grad_output);
    const Input<double> first(args.input1);
    const Input<double> second(args.input2);
    const Input<double> gradient(args.grad_output);
    const Output<double> of_first(args.grad_input1);
    const Output<double> of_second(args.grad_input2);
    const int64_t cost = 8 * by.patches() * by.elements();
    each(args.input1.numel, cost, CorrelationGradient{of_first.data(), second.data(), gradient.data(), 1, by});
    each(args.input2.numel, cost, CorrelationGradient{of_second.data(), first.data(), gradient.data(), -1, by});
    of_first.store();
    of_second.store();
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_FUNCTIONS_DETECTION_CORRELATION_H_
