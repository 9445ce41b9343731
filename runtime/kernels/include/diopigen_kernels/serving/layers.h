// Rotary embedding, gated activations and rows of a sharded table, for the libraries of all devices: an object is
// called for each owner of results. Elements are rows of floats in row-major order.
#ifndef DIOPIGEN_KERNELS_SERVING_LAYERS_H_
#define DIOPIGEN_KERNELS_SERVING_LAYERS_H_

#include <diopigen_kernels/host_device.h>

#include <cstdint>

namespace diopigen::kernels::serving {

/// Rotates one pair of one head by the angle of the token's position. Row p of `table` has the cosines of position p
/// and then its sines, rotated / 2 each. Owners: tokens * heads * rotated / 2.
struct RotatePair {
    float* elements;  ///< [tokens, heads, size]
    const float* table;
    const int64_t* positions;
    int64_t heads;
    int64_t size;
    int64_t rotated;
    bool is_interleaved;  ///< pairs 2i and 2i + 1, else i and i + rotated / 2

    DIOPI_HOST_DEVICE void operator()(int64_t owner) const {
        const int64_t half = rotated / 2;
        const int64_t pair = owner % half;
        const int64_t row = owner / half;
        const float* const angles = table + positions[row / heads] * rotated;
        float* const head = elements + row * size;
        float& a = head[is_interleaved ? 2 * pair : pair];
        float& b = head[is_interleaved ? 2 * pair + 1 : pair + half];
        const double cosine = angles[pair];
        const double sine = angles[half + pair];
        const double first = a;
        const double second = b;
        a = static_cast<float>(first * cosine - second * sine);
        b = static_cast<float>(second * cosine + first * sine);
    }
};

enum class Gate : uint8_t { kSilu, kGelu, kGeluTanh };

DIOPI_HOST_DEVICE inline double activate(Gate gate, double x) {
    switch (gate) {
        case Gate::kSilu:
            return x / (1 + numeric::exp(-x));
        case Gate::kGelu:
            return 0.5 * x * numeric::erfc(-x * 0.70710678118654752440);
        default: {
            const double cubic = 1.59576912160573071176 * (x + 0.044715 * x * x * x);  // sqrt(8 / pi)
            return x / (1 + numeric::exp(-cubic));
        }
    }
}

/// The first half of a row, activated, times the second half. Owners: the elements of the result.
struct GatedElement {
    float* to;
    const float* from;
    int64_t width;  ///< of a row of the result
    Gate gate;

    DIOPI_HOST_DEVICE void operator()(int64_t owner) const {
        const float* const row = from + owner / width * 2 * width;
        const int64_t i = owner % width;
        to[owner] = static_cast<float>(activate(gate, row[i]) * row[width + i]);
    }
};

/// An element of the row of a token: that of a table that has `rows` tokens from `first` on, or zero. Owners: tokens *
/// size.
template <typename Word>
struct ShardedElement {
    Word* to;           ///< [tokens, size]
    const Word* table;  ///< [rows, size]
    const int64_t* tokens;
    int64_t first, rows, size;

    DIOPI_HOST_DEVICE void operator()(int64_t owner) const {
        const int64_t row = tokens[owner / size] - first;
        to[owner] = row >= 0 && row < rows ? table[row * size + owner % size] : Word{};
    }
};

}  // namespace diopigen::kernels::serving

#endif  // DIOPIGEN_KERNELS_SERVING_LAYERS_H_
