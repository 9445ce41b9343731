// Linear layers of quantized weights, for the libraries of all devices: an object is called for each owner of results.
#ifndef DIOPIGEN_KERNELS_SERVING_QUANTIZED_H_
#define DIOPIGEN_KERNELS_SERVING_QUANTIZED_H_

#include <diopigen_kernels/host_device.h>

#include <cstdint>

namespace diopigen::kernels::serving {

/// The product of a row with one row of packed weights. Owners: tokens * width.
struct PackedProduct {
    float* to;              ///< [tokens, width]
    const float* x;         ///< [tokens, depth]
    const int32_t* packed;  ///< [width, depth * bits / 32], the first weight in the lowest bits
    const float* scales;    ///< [width, groups]
    const int32_t* zeros;   ///< [width * bits / 32, groups], packed along the rows; null for 2^(bits - 1)
    const float* bias;      ///< [width], or null
    int64_t width, depth, groups;
    int bits;

    DIOPI_HOST_DEVICE int64_t zero(int64_t row, int64_t group) const {
        const int64_t count = 32 / bits;
        return zeros == nullptr ? int64_t{1} << (bits - 1) : field(zeros[row / count * groups + group], row % count);
    }
    DIOPI_HOST_DEVICE int64_t field(int32_t word, int64_t i) const {
        return (static_cast<uint32_t>(word) >> (i * bits)) & ((1U << bits) - 1);
    }
    DIOPI_HOST_DEVICE void operator()(int64_t owner) const {
        const int64_t row = owner % width;
        const int64_t count = 32 / bits;
        const float* const from = x + owner / width * depth;
        const int32_t* const words = packed + row * (depth / count);
        const int64_t length = depth / (groups > 0 ? groups : 1);
        double sum = bias == nullptr ? 0 : bias[row];
        for (int64_t group = 0; group < groups; ++group) {
            const int64_t offset = zero(row, group);
            double part = 0;
            for (int64_t i = group * length; i < (group + 1) * length; ++i) {
                part += static_cast<double>(from[i]) * static_cast<double>(field(words[i / count], i % count) - offset);
            }
            sum += part * scales[row * groups + group];
        }
        to[owner] = static_cast<float>(sum);
    }
};

/// Quantizes a row to int8 by its largest magnitude. Owners: rows.
struct QuantizeRow {
    int8_t* to;     ///< [rows, size]
    float* scales;  ///< [rows]
    const float* x;
    int64_t size;

    DIOPI_HOST_DEVICE void operator()(int64_t row) const {
        const float* const from = x + row * size;
        float largest = 0;
        for (int64_t i = 0; i < size; ++i) {
            const float magnitude = from[i] < 0 ? -from[i] : from[i];
            largest = magnitude > largest ? magnitude : largest;
        }
        const float scale = largest / 127;
        scales[row] = scale;
        for (int64_t i = 0; i < size; ++i) {
            const double level = scale > 0 ? numeric::rint(static_cast<double>(from[i]) / scale) : 0;
            to[row * size + i] = static_cast<int8_t>(level > 127 ? 127 : level < -127 ? -127 : level);
        }
    }
};

/// The product of a quantized row with a row of quantized weights. Owners: tokens * width.
struct Int8Product {
    float* to;               ///< [tokens, width]
    const int8_t* x;         ///< [tokens, depth]
    const int8_t* weight;    ///< [width, depth]
    const float* x_scale;    ///< [tokens], or one
    const float* row_scale;  ///< [width], or one
    const float* bias;       ///< [width], or null
    int64_t width, depth;
    bool is_by_token, is_by_row;

    DIOPI_HOST_DEVICE void operator()(int64_t owner) const {
        const int64_t token = owner / width;
        const int64_t row = owner % width;
        int64_t sum = 0;
        for (int64_t i = 0; i < depth; ++i) {
            sum += static_cast<int32_t>(x[token * depth + i]) * weight[row * depth + i];
        }
        const double scale = static_cast<double>(x_scale[is_by_token ? token : 0]) * row_scale[is_by_row ? row : 0];
        to[owner] = static_cast<float>(scale * static_cast<double>(sum) + (bias == nullptr ? 0 : bias[row]));
    }
};

}  // namespace diopigen::kernels::serving

#endif  // DIOPIGEN_KERNELS_SERVING_QUANTIZED_H_
