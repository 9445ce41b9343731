// What the variants of a two-dimensional convolution share.
#pragma once

#include <vector>

#include "work.h"

namespace diopigen::variants {

// The operands of Convolution2d, images of one batch, and how the filters slide.
template <typename T>
struct Convolution {
    Array<T> input, weight, bias;
    Dims shape;  // of the result: [batch, filters, rows, columns]
    int64_t stride[2] = {1, 1}, padding[2] = {0, 0}, dilation[2] = {1, 1}, groups = 1;

    explicit Convolution(const Work& work)
        : input(work.read<T>("input")), weight(work.read<T>("weight")), bias(work.read<T>("bias")) {
        shape = work.call().tensor("out").shape();
        groups = work.integer("groups", 1);
        const auto pair = [&](const char* name, int64_t(&to)[2]) {
            const Dims sizes = work.call().sizes(name);
            for (size_t i = 0; i < 2 && !sizes.empty(); ++i) to[i] = sizes.size() > 1 ? sizes[i] : sizes[0];
        };
        pair("stride", stride);
        pair("padding", padding);
        pair("dilation", dilation);
    }

    bool usable() const { return input.rank() == 4 && weight.rank() == 4 && input.count() * weight.count() > 0; }
    bool dense() const { return stride[0] * stride[1] * dilation[0] * dilation[1] == 1; }
    int64_t channels() const { return weight.size(1); }
    // The first channel that a filter sees.
    int64_t firstChannel(int64_t filter) const { return filter / (weight.size(0) / groups) * channels(); }
    // An element of an image, zero in the padding; row and column count from its first one.
    T at(int64_t image, int64_t channel, int64_t row, int64_t column) const {
        if (row < 0 || row >= input.size(2) || column < 0 || column >= input.size(3)) return 0;
        return input[((image * input.size(1) + channel) * input.size(2) + row) * input.size(3) + column];
    }
    T weightAt(int64_t filter, int64_t channel, int64_t row, int64_t column) const {
        return weight[((filter * channels() + channel) * weight.size(2) + row) * weight.size(3) + column];
    }
    T biasOf(int64_t filter) const { return bias.count() > 0 ? bias[filter] : T(0); }
};

}  // namespace diopigen::variants
