// Attention of tokens of several requests to keys and values in blocks, and the merge of such results, for the
// libraries of all devices: an object is called for each owner of results.
#ifndef DIOPIGEN_KERNELS_SERVING_PAGED_ATTENTION_H_
#define DIOPIGEN_KERNELS_SERVING_PAGED_ATTENTION_H_

#include <diopigen_kernels/host_device.h>
#include <diopigen_kernels/serving/cache.h>
#include <diopigen_kernels/serving/products.h>

#include <cstdint>

namespace diopigen::kernels::serving {

/// sum[i] = sum[i] * factor + weight * y[i * step].
template <typename Element>
DIOPI_HOST_DEVICE void accumulate(float* sum, float factor, float weight, const Element* y, int64_t step,
                                  int64_t size) {
    if (step == 1 && factor == 1) {
        for (int64_t i = 0; i < size; ++i) {
            sum[i] += weight * static_cast<float>(y[i]);
        }
        return;
    }
    for (int64_t i = 0; i < size; ++i) {
        sum[i] = sum[i] * factor + weight * static_cast<float>(y[i * step]);
    }
}

/// Keys of positions in [first, end).
struct Span {
    int64_t first;
    int64_t end;
};

/// Attention of one head of one token, in one pass over the keys. Tokens that belong to no request are left out.
/// Owners: tokens * heads.
template <typename Element>
struct AttendToBlocks {
    float* to;           ///< [tokens, heads, value_size]
    float* lse;          ///< [heads, tokens], or null
    const float* query;  ///< [tokens, heads, size]
    Blocks<const Element> keys;
    Blocks<const Element> values;
    const int64_t* table;    ///< [requests or more, width]
    const int64_t* starts;   ///< [requests + 1]
    const int64_t* lengths;  ///< [requests]
    const float* slopes;     ///< [heads], or null
    const float* sinks;      ///< [heads], or null
    const float* key_scale;  ///< of all keys, or null
    const float* value_scale;
    int64_t tokens, heads, kv_heads, size, value_size, requests, width;
    double scale, softcap;
    int64_t left, right;  ///< keys before and behind the position of the token, -1 for all

    /// The keys that a position sees.
    DIOPI_HOST_DEVICE Span visible(int64_t position, int64_t length) const {
        Span span{0, length};
        if (left >= 0 && position > left) {
            span.first = position - left;
        }
        if (right >= 0 && right < length - 1 - position) {
            span.end = position + right + 1;
        }
        return span;
    }

    DIOPI_HOST_DEVICE double score(const float* q, int64_t head, int64_t key, int64_t position,
                                   const Element* k) const {
        double found = scale * static_cast<double>(dot(q, k, keys.of_element, size));
        found *= key_scale == nullptr ? 1 : *key_scale;
        if (softcap > 0) {
            found = softcap * numeric::tanh(found / softcap);
        }
        if (slopes != nullptr) {
            const int64_t distance = key < position ? position - key : key - position;
            found -= static_cast<double>(slopes[head]) * static_cast<double>(distance);
        }
        return found;
    }

    DIOPI_HOST_DEVICE void operator()(int64_t owner) const {
        const int64_t token = owner / heads;
        const int64_t head = owner % heads;
        const int64_t request = requestOf(starts, requests, token);
        if (request < 0 || request >= requests) {
            return;
        }
        const int64_t kvHead = head / (heads / kv_heads);
        const int64_t length = lengths[request];
        const int64_t position = length - (starts[request + 1] - token);
        const float* const q = query + owner * size;
        float* const sum = to + owner * value_size;
        for (int64_t i = 0; i < value_size; ++i) {
            sum[i] = 0;
        }
        double largest = sinks != nullptr ? static_cast<double>(sinks[head]) : -static_cast<double>(INFINITY);
        double total = sinks != nullptr ? 1 : 0;
        const Span span = visible(position, length);
        for (int64_t key = span.first; key < span.end; ++key) {
            const int64_t block = table[request * width + key / keys.block_size];
            const int64_t slot = key % keys.block_size;
            const double found = score(q, head, key, position, keys.row(block, slot, kvHead));
            double factor = 1;
            if (found > largest) {
                factor = numeric::exp(largest - found);
                largest = found;
            }
            const double weight = numeric::exp(found - largest);
            total = total * factor + weight;
            accumulate(sum, static_cast<float>(factor), static_cast<float>(weight), values.row(block, slot, kvHead),
                       values.of_element, value_size);
        }
        const double inverse = (total > 0 ? 1 / total : 0) * (value_scale == nullptr ? 1 : *value_scale);
        for (int64_t i = 0; i < value_size; ++i) {
            sum[i] = static_cast<float>(sum[i] * inverse);
        }
        if (lse != nullptr) {
            lse[head * tokens + token] = static_cast<float>(largest + numeric::log(total));
        }
    }
};

/// One element of attention to the keys of two sets, from those to each of them. Owners: tokens * heads * size.
struct MergeElement {
    float* to;            ///< [tokens, heads, size]
    float* lse;           ///< [heads, tokens], or null
    const float* first;   ///< [tokens, heads, size]
    const float* second;  ///< [tokens, heads, size]
    const float* first_lse;
    const float* second_lse;
    int64_t tokens, heads, size;

    DIOPI_HOST_DEVICE void operator()(int64_t owner) const {
        const int64_t head = owner / size % heads;
        const int64_t row = head * tokens + owner / size / heads;
        const double a = first_lse[row];
        const double b = second_lse[row];
        const double largest = a > b ? a : b;
        const bool isBlind = largest == -static_cast<double>(INFINITY);
        const double ofFirst = isBlind ? 0 : numeric::exp(a - largest);
        const double ofSecond = isBlind ? 0 : numeric::exp(b - largest);
        const double total = ofFirst + ofSecond;
        // What has no weight is not read: it may be anything.
        const double sum = (ofFirst > 0 ? ofFirst * first[owner] : 0) + (ofSecond > 0 ? ofSecond * second[owner] : 0);
        to[owner] = isBlind ? 0 : static_cast<float>(sum / total);
        if (lse != nullptr && owner % size == 0) {
            lse[row] = isBlind ? static_cast<float>(largest) : static_cast<float>(largest + numeric::log(total));
        }
    }
};

}  // namespace diopigen::kernels::serving

#endif  // DIOPIGEN_KERNELS_SERVING_PAGED_ATTENTION_H_
