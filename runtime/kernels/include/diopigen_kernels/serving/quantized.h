// Linear layers of quantized weights, for the libraries of all devices: an object is called for each owner of results.
#ifndef DIOPIGEN_KERNELS_SERVING_QUANTIZED_H_
#define DIOPIGEN_KERNELS_SERVING_QUANTIZED_H_

#include <diopigen/float8.h>
#include <diopigen_kernels/host_device.h>
#include <diopigen_kernels/serving/products.h>

#include <cstdint>

namespace diopigen::kernels::serving {

/// Field `i` of a word of unsigned integers, counted from the lowest bits.
DIOPI_HOST_DEVICE inline int64_t field(int32_t word, int64_t i, int bits) {
    return (static_cast<uint32_t>(word) >> (i * bits)) & ((1U << bits) - 1);
}

/// Rows of packed weights, of one matrix behind the other.
struct PackedMatrix {
    const int32_t* packed;  ///< [matrices, rows, depth * bits / 32], the first weight in the lowest bits
    const float* scales;    ///< [matrices, rows, groups]
    const int32_t* zeros;   ///< [matrices, rows * bits / 32, groups], packed along the rows; null for 2^(bits - 1)
    int64_t rows, groups;
    int bits;

    DIOPI_HOST_DEVICE int64_t zero(int64_t row, int64_t group) const {
        const int64_t count = 32 / bits;
        return zeros == nullptr ? int64_t{1} << (bits - 1)
                                : field(zeros[row / count * groups + group], row % count, bits);
    }
    /// The product of `size` numbers, the depth, with a row of a matrix.
    DIOPI_HOST_DEVICE double times(const float* x, int64_t matrix, int64_t row, int64_t size) const {
        const int64_t count = 32 / bits;
        const int64_t all = matrix * rows + row;  // rows are whole words of zeros, so that this is their row too
        const int32_t* const words = packed + all * (size / count);
        const int64_t length = size / (groups > 0 ? groups : 1);
        double sum = 0;
        for (int64_t group = 0; group < groups; ++group) {
            const int64_t offset = zero(all, group);
            double part = 0;
            for (int64_t i = group * length; i < (group + 1) * length; ++i) {
                part +=
                    static_cast<double>(x[i]) * static_cast<double>(field(words[i / count], i % count, bits) - offset);
            }
            sum += part * scales[all * groups + group];
        }
        return sum;
    }
};

/// The product of a row with one row of packed weights. Owners: tokens * width.
struct PackedProduct {
    float* to;            ///< [tokens, width]
    const float* x;       ///< [tokens, depth]
    PackedMatrix weight;  ///< one, [width, depth]
    const float* bias;    ///< [width], or null
    int64_t depth;

    DIOPI_HOST_DEVICE void operator()(int64_t owner) const {
        const int64_t row = owner % weight.rows;
        const double sum = weight.times(x + owner / weight.rows * depth, 0, row, depth);
        to[owner] = static_cast<float>(sum + (bias == nullptr ? 0 : bias[row]));
    }
};

/// The product of a row with one column of weights that are packed along the depth. Owners: tokens * width.
struct GptqProduct {
    float* to;              ///< [tokens, width]
    const float* x;         ///< [tokens, depth]
    const int32_t* packed;  ///< [depth * bits / 32, width], the first weight in the lowest bits
    const float* scales;    ///< [groups, width]
    const int32_t* zeros;   ///< [groups, width * bits / 32]; null for 2^(bits - 1)
    const int64_t* group;   ///< [depth], or null for neighbouring rows
    const float* bias;      ///< [width], or null
    int64_t width, depth, groups, zero_offset;
    int bits;

    DIOPI_HOST_DEVICE void operator()(int64_t owner) const {
        const int64_t column = owner % width;
        const int64_t count = 32 / bits;
        const float* const from = x + owner / width * depth;
        double sum = bias == nullptr ? 0 : bias[column];
        for (int64_t i = 0; i < depth; ++i) {
            const int64_t of = group == nullptr ? i / (depth / groups) : group[i];
            const int64_t zero = zeros == nullptr
                                     ? int64_t{1} << (bits - 1)
                                     : field(zeros[(of * width + column) / count], column % count, bits) + zero_offset;
            const int64_t level = field(packed[i / count * width + column], i % count, bits) - zero;
            sum += static_cast<double>(from[i]) * scales[of * width + column] * static_cast<double>(level);
        }
        to[owner] = static_cast<float>(sum);
    }
};

/// The product of a row with one column of weights of 4 bits that are packed along the width. Owners: tokens * width.
struct AwqProduct {
    float* to;              ///< [tokens, width]
    const float* x;         ///< [tokens, depth]
    const int32_t* packed;  ///< [depth, width / 8], columns 0, 2, 4, 6, 1, 3, 5 and 7 from the lowest bits on
    const float* scales;    ///< [groups, width]
    const int32_t* zeros;   ///< [groups, width / 8], in the same order
    const float* bias;      ///< [width], or null
    int64_t width, depth, groups;

    DIOPI_HOST_DEVICE void operator()(int64_t owner) const {
        const int64_t column = owner % width;
        const int64_t words = width / 8;
        const int64_t word = column / 8;
        const int64_t position = column % 2 * 4 + column % 8 / 2;
        const int64_t length = depth / (groups > 0 ? groups : 1);
        const float* const from = x + owner / width * depth;
        double sum = bias == nullptr ? 0 : bias[column];
        for (int64_t i = 0; i < depth; ++i) {
            const int64_t group = i / length;
            const int64_t level =
                field(packed[i * words + word], position, 4) - field(zeros[group * words + word], position, 4);
            sum += static_cast<double>(from[i]) * scales[group * width + column] * static_cast<double>(level);
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

/// Calls `visit` with an element of `format`, which has a sign.
template <typename Visit>
void withFloat8(Float8 format, Visit visit) {
    format == Float8::kE4m3fn ? visit(StoredFloat8<Float8::kE4m3fn>{}) : visit(StoredFloat8<Float8::kE5m2>{});
}

/// The largest number of a format with a sign.
DIOPI_HOST_DEVICE inline float largestOf(Float8 format) { return format == Float8::kE4m3fn ? 448.0F : 57344.0F; }

/// The byte of value / scale, within the range of the format; 0 where the scale is.
DIOPI_HOST_DEVICE inline uint8_t float8Level(float value, float scale, Float8 format) {
    const float limit = largestOf(format);
    const double level = scale != 0 ? static_cast<double>(value) / scale : 0;
    return float8_of_float(format, level > limit ? limit : level < -limit ? -limit : static_cast<float>(level));
}

/// Quantizes a group of a row to float8 by its largest magnitude. Owners: rows * groups.
struct QuantizeFloat8Group {
    uint8_t* to;    ///< [rows, size]
    float* scales;  ///< [rows, groups]
    const float* x;
    int64_t size, length, groups;
    Float8 format;

    DIOPI_HOST_DEVICE void operator()(int64_t owner) const {
        const int64_t begin = owner % groups * length;
        const int64_t count = begin + length < size ? length : size - begin;
        const int64_t offset = owner / groups * size + begin;
        float largest = 0;
        for (int64_t i = offset; i < offset + count; ++i) {
            const float magnitude = x[i] < 0 ? -x[i] : x[i];
            largest = magnitude > largest ? magnitude : largest;
        }
        const float scale = largest / largestOf(format);
        scales[owner] = scale;
        for (int64_t i = offset; i < offset + count; ++i) {
            to[i] = float8Level(x[i], scale, format);
        }
    }
};

/// Quantizes an element to float8. Owners: elements.
struct QuantizeFloat8Element {
    uint8_t* to;
    const float* x;
    const float* scale;  ///< one
    Float8 format;

    DIOPI_HOST_DEVICE void operator()(int64_t owner) const { to[owner] = float8Level(x[owner], *scale, format); }
};

/// The product of a row of float8 with a row of weights of float8. Scales are of all, of rows, or of blocks: that of
/// element i of a row is number row / row_block * step + i / block * is_blocked. Owners: tokens * width.
struct Float8Product {
    struct Scales {
        const void* data;  ///< floats, or powers of two as float8_e8m0fnu
        bool is_power;
        int64_t row_block, step;
        bool is_blocked;

        DIOPI_HOST_DEVICE float at(int64_t row, int64_t block) const {
            const int64_t index = row / row_block * step + (is_blocked ? block : 0);
            return is_power ? float_of_float8(Float8::kE8m0fnu, static_cast<const uint8_t*>(data)[index])
                            : static_cast<const float*>(data)[index];
        }
    };
    float* to;              ///< [tokens, width]
    const uint8_t* x;       ///< [tokens, depth]
    const uint8_t* weight;  ///< [width, depth]
    Scales x_scale, weight_scale;
    const float* bias;  ///< [width], or null
    int64_t width, depth, block;
    Float8 x_format, weight_format;

    /// The scales of a tensor [rows, ...] that has `count` scales in each of `scale_rows` rows.
    static Scales scales(const void* data, bool is_power, int64_t rows, int64_t scale_rows, int64_t count,
                         int64_t block) {
        const bool isOne = scale_rows * count <= 1;
        return {data, is_power, isOne || scale_rows == rows ? 1 : block, isOne ? 0 : count, count > 1};
    }
    DIOPI_HOST_DEVICE void operator()(int64_t owner) const {
        const int64_t token = owner / width;
        const int64_t row = owner % width;
        double sum = bias == nullptr ? 0 : bias[row];
        for (int64_t begin = 0; begin < depth; begin += block) {
            const int64_t end = begin + block < depth ? begin + block : depth;
            double part = 0;
            for (int64_t i = begin; i < end; ++i) {
                part += static_cast<double>(float_of_float8(x_format, x[token * depth + i])) *
                        float_of_float8(weight_format, weight[row * depth + i]);
            }
            const int64_t number = begin / block;
            sum += part * x_scale.at(token, number) * weight_scale.at(row, number);
        }
        to[owner] = static_cast<float>(sum);
    }
};

}  // namespace diopigen::kernels::serving

#endif  // DIOPIGEN_KERNELS_SERVING_QUANTIZED_H_
