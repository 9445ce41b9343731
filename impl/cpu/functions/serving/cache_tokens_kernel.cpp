#include <algorithm>
#include <cmath>

#include "diopi_core/raw_elements.h"
#include "serving/serving_kernels.h"

namespace diopigen::core::serving {

namespace {

// Cosines and sines of the angles of a position, in double: positions are large and angles must not be rounded.
struct Turn {
    double cosine;
    double sine;
};

std::vector<Turn> turns_of(int64_t position, const Heads& heads) {
    std::vector<Turn> turns(static_cast<size_t>(heads.rotated / 2));
    for (size_t i = 0; i < turns.size(); ++i) {
        const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(heads.rotated);
        const double angle = static_cast<double>(position) * std::pow(heads.theta, exponent);
        turns[i] = {std::cos(angle), std::sin(angle)};
    }
    return turns;
}

void rotate(float* head, const std::vector<Turn>& turns) {
    for (size_t i = 0; i < turns.size(); ++i) {
        const double a = head[2 * i];
        const double b = head[2 * i + 1];
        head[2 * i] = static_cast<float>(a * turns[i].cosine - b * turns[i].sine);
        head[2 * i + 1] = static_cast<float>(a * turns[i].sine + b * turns[i].cosine);
    }
}

template <typename T>
void write(const Tensor& cache, const CacheIndex& at, int64_t head, const float* from) {
    T* to =
        cache.elements<T>() + at.sequence * cache.strides[0] + head * cache.strides[1] + at.position * cache.strides[2];
    for (int64_t i = 0; i < cache.shape[3]; ++i) {
        to[i * cache.strides[3]] = cast<T>(from[i]);
    }
}

}  // namespace

void cache_tokens(const Tensor& queries, const Tensor& keys, const Tensor& values, const Tensor& projected,
                  const Tensor& bias, const std::vector<CacheIndex>& tokens, const Heads& heads) {
    const int64_t width = projected.shape[1];
    const Input<float> rows(projected);
    const Input<float> shift(bias);
    const Output<float> to(queries);
    dispatch<kFloating>(keys.dtype, [&](auto sample) {
        using T = decltype(sample);
        parallel_for(projected.shape[0], row_grain(width), [&](int64_t begin, int64_t end) {
            std::vector<float> row(static_cast<size_t>(width));
            for (int64_t token = begin; token < end; ++token) {
                float* query = to.data() + token * heads.queries * heads.size;
                const CacheIndex& at = tokens[static_cast<size_t>(token)];
                if (at.sequence < 0) {
                    std::fill_n(query, heads.queries * heads.size, 0.0F);
                    continue;
                }
                const std::vector<Turn> turns = turns_of(at.position, heads);
                for (int64_t i = 0; i < width; ++i) {
                    row[static_cast<size_t>(i)] = rows[token * width + i] + (shift ? shift[i] : 0.0F);
                }
                for (int64_t head = 0; head < heads.queries + heads.keys; ++head) {
                    rotate(row.data() + head * heads.size, turns);
                }
                std::copy_n(row.data(), heads.queries * heads.size, query);
                const float* key = row.data() + heads.queries * heads.size;
                for (int64_t head = 0; head < heads.keys; ++head) {
                    write<T>(keys, at, head, key + head * heads.size);
                    write<T>(values, at, head, key + (heads.keys + head) * heads.size);
                }
            }
        });
    });
    to.store();
}

}  // namespace diopigen::core::serving
