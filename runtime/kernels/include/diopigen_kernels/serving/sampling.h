// The next token of language models out of their logits, for the libraries of all devices: an object is called for each
// owner of results.
#ifndef DIOPIGEN_KERNELS_SERVING_SAMPLING_H_
#define DIOPIGEN_KERNELS_SERVING_SAMPLING_H_

#include <diopigen_kernels/host_device.h>

#include <cstdint>

namespace diopigen::kernels::serving {

/// Sets to -inf the logits of a row that top-k, top-p or min-p leaves out. Owners: rows.
struct MaskRow {
    float* logits;         ///< [rows, size]
    int64_t* order;        ///< memory, [rows, size]
    const int64_t* top_k;  ///< [rows], or null
    const float* top_p;    ///< [rows], or null
    const float* min_p;    ///< [rows], or null
    int64_t size;

    /// Whether a token comes after another in falling order of logits, equal ones in rising order of tokens.
    DIOPI_HOST_DEVICE static bool isAfter(const float* x, int64_t a, int64_t b) {
        return x[a] < x[b] || (x[a] == x[b] && a > b);
    }
    DIOPI_HOST_DEVICE static void swap(int64_t* tokens, int64_t a, int64_t b) {
        const int64_t stored = tokens[a];
        tokens[a] = tokens[b];
        tokens[b] = stored;
    }
    DIOPI_HOST_DEVICE static void siftDown(const float* x, int64_t* tokens, int64_t at, int64_t count) {
        while (2 * at + 1 < count) {
            int64_t child = 2 * at + 1;
            if (child + 1 < count && isAfter(x, tokens[child + 1], tokens[child])) {
                ++child;
            }
            if (!isAfter(x, tokens[child], tokens[at])) {
                return;
            }
            swap(tokens, at, child);
            at = child;
        }
    }
    /// The tokens in falling order of logits.
    DIOPI_HOST_DEVICE void sort(const float* x, int64_t* tokens) const {
        for (int64_t i = 0; i < size; ++i) {
            tokens[i] = i;
        }
        for (int64_t i = size / 2; i-- > 0;) {
            siftDown(x, tokens, i, size);
        }
        for (int64_t i = size; i-- > 1;) {
            swap(tokens, 0, i);
            siftDown(x, tokens, 0, i);
        }
    }

    DIOPI_HOST_DEVICE void operator()(int64_t row) const {
        float* const x = logits + row * size;
        int64_t* const tokens = order + row * size;
        sort(x, tokens);
        const double largest = x[tokens[0]];
        int64_t count = size;
        if (top_k != nullptr && top_k[row] > 0 && top_k[row] < size) {
            count = top_k[row];
            while (count < size && x[tokens[count]] == x[tokens[count - 1]]) {
                ++count;
            }
        }
        if (min_p != nullptr && min_p[row] > 0) {
            const double least = largest + numeric::log(static_cast<double>(min_p[row]));
            while (count > 1 && x[tokens[count - 1]] < least) {
                --count;
            }
        }
        if (top_p != nullptr && top_p[row] < 1) {
            double total = 0;
            for (int64_t i = 0; i < count; ++i) {
                total += numeric::exp(x[tokens[i]] - largest);
            }
            double above = 0;
            int64_t within = 0;
            while (within < count && (within == 0 || above < total * top_p[row])) {
                above += numeric::exp(x[tokens[within]] - largest);
                ++within;
            }
            count = within;
        }
        for (int64_t i = count; i < size; ++i) {
            x[tokens[i]] = -static_cast<float>(INFINITY);
        }
    }
};

/// Counts the tokens of a row in its prompt and in its output. Owners: rows.
struct CountTokens {
    int32_t* in_prompt;     ///< [rows, size]
    int32_t* in_output;     ///< [rows, size]
    const int64_t* prompt;  ///< [rows, prompt_size]
    const int64_t* output;  ///< [rows, output_size]
    int64_t size, prompt_size, output_size;

    DIOPI_HOST_DEVICE static void count(int32_t* to, const int64_t* tokens, int64_t length, int64_t size) {
        for (int64_t i = 0; i < size; ++i) {
            to[i] = 0;
        }
        for (int64_t i = 0; i < length; ++i) {
            if (tokens[i] >= 0 && tokens[i] < size) {
                ++to[tokens[i]];
            }
        }
    }
    DIOPI_HOST_DEVICE void operator()(int64_t row) const {
        count(in_prompt + row * size, prompt + row * prompt_size, prompt_size, size);
        count(in_output + row * size, output + row * output_size, output_size, size);
    }
};

/// Penalizes one logit. Owners: rows * size.
struct PenalizeLogit {
    float* logits;
    const int32_t* in_prompt;
    const int32_t* in_output;
    const float* presence;    ///< [rows]
    const float* frequency;   ///< [rows]
    const float* repetition;  ///< [rows]
    int64_t size;

    DIOPI_HOST_DEVICE void operator()(int64_t owner) const {
        const int64_t row = owner / size;
        double x = logits[owner];
        if (in_prompt[owner] > 0 || in_output[owner] > 0) {
            x = x > 0 ? x / repetition[row] : x * repetition[row];
        }
        if (in_output[owner] > 0) {
            x -= static_cast<double>(frequency[row]) * in_output[owner] + presence[row];
        }
        logits[owner] = static_cast<float>(x);
    }
};

/// Draws the token whose part of the sum of probabilities a uniform number falls into. Owners: rows.
struct SampleToken {
    int64_t* tokens;        ///< [rows]
    const float* logits;    ///< [rows, size]
    const float* uniforms;  ///< [rows]
    int64_t size;

    DIOPI_HOST_DEVICE void operator()(int64_t row) const {
        const float* const x = logits + row * size;
        int64_t best = 0;
        for (int64_t i = 1; i < size; ++i) {
            best = x[i] > x[best] ? i : best;
        }
        const double largest = x[best];
        double total = 0;
        for (int64_t i = 0; i < size; ++i) {
            total += numeric::exp(x[i] - largest);
        }
        const double mark = uniforms[row] * total;
        int64_t drawn = best;
        double sum = 0;
        for (int64_t i = 0; i < size && sum <= mark; ++i) {
            const double weight = numeric::exp(x[i] - largest);
            sum += weight;
            drawn = weight > 0 ? i : drawn;
        }
        tokens[row] = drawn;
    }
};

}  // namespace diopigen::kernels::serving

#endif  // DIOPIGEN_KERNELS_SERVING_SAMPLING_H_
