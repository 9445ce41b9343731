// Mixtures of experts, for the libraries of all devices: an object is called for each owner of results.
#ifndef DIOPIGEN_KERNELS_SERVING_EXPERTS_H_
#define DIOPIGEN_KERNELS_SERVING_EXPERTS_H_

#include <diopigen_kernels/host_device.h>
#include <diopigen_kernels/serving/layers.h>
#include <diopigen_kernels/serving/products.h>

#include <cstdint>

namespace diopigen::kernels::serving {

/// The experts of one token. Owners: tokens.
struct ChooseExperts {
    float* weights;      ///< [tokens, count]
    int64_t* experts;    ///< [tokens, count]
    const float* gates;  ///< [tokens, all]
    const float* bias;   ///< [all], or null
    double* scores;      ///< memory, [tokens, all]
    double* choice;      ///< memory, [tokens, all]: what experts are compared by
    int64_t all, count, groups, top_groups;
    bool is_sigmoid, normalizes;
    double scaling;

    /// The scores of a token.
    DIOPI_HOST_DEVICE void score(const float* x, double* to) const {
        double largest = x[0];
        for (int64_t e = 1; e < all; ++e) {
            largest = x[e] > largest ? x[e] : largest;
        }
        double sum = 0;
        for (int64_t e = 0; e < all; ++e) {
            to[e] = is_sigmoid ? 1 / (1 + numeric::exp(-static_cast<double>(x[e]))) : numeric::exp(x[e] - largest);
            sum += to[e];
        }
        for (int64_t e = 0; e < all && !is_sigmoid; ++e) {
            to[e] /= sum;
        }
    }

    /// What groups are compared by: their best expert, or with a bias the sum of their two best.
    DIOPI_HOST_DEVICE double ofGroup(const double* members) const {
        const int64_t size = all / groups;
        double best = members[0];
        double second = -static_cast<double>(INFINITY);
        for (int64_t i = 1; i < size; ++i) {
            if (members[i] > best) {
                second = best;
                best = members[i];
            } else if (members[i] > second) {
                second = members[i];
            }
        }
        return bias == nullptr || size < 2 ? best : best + second;
    }

    /// Whether another group than `group` is better, or as good and before it, for `top_groups` of them.
    DIOPI_HOST_DEVICE bool isLeftOut(const double* own, int64_t group) const {
        const int64_t size = all / groups;
        const double mine = ofGroup(own + group * size);
        int64_t better = 0;
        for (int64_t other = 0; other < groups; ++other) {
            const double theirs = ofGroup(own + other * size);
            better += theirs > mine || (theirs == mine && other < group) ? 1 : 0;
        }
        return better >= top_groups;
    }

    DIOPI_HOST_DEVICE void operator()(int64_t token) const {
        double* const scoreOf = scores + token * all;
        double* const own = choice + token * all;
        score(gates + token * all, scoreOf);
        for (int64_t e = 0; e < all; ++e) {
            own[e] = scoreOf[e] + (bias == nullptr ? 0 : bias[e]);
        }
        const int64_t size = all / groups;
        int64_t* const selected = experts + token * count;
        float* const weight = weights + token * count;
        double sum = 0;
        for (int64_t k = 0; k < count; ++k) {
            int64_t best = -1;
            for (int64_t e = 0; e < all; ++e) {
                bool isTaken = false;
                for (int64_t i = 0; i < k; ++i) {
                    isTaken = isTaken || selected[i] == e;
                }
                const bool isBetter = best < 0 || own[e] > own[best];
                if (!isTaken && isBetter && (top_groups >= groups || !isLeftOut(own, e / size))) {
                    best = e;
                }
            }
            selected[k] = best < 0 ? 0 : best;
            sum += scoreOf[selected[k]];
        }
        const double factor = scaling / (normalizes && sum > 0 ? sum : 1);
        for (int64_t k = 0; k < count; ++k) {
            weight[k] = static_cast<float>(scoreOf[selected[k]] * factor);
        }
    }
};

/// Factors on the weights of experts: of each expert, of each of its rows, or of blocks of rows and columns.
struct ExpertScales {
    const float* data;  ///< [experts, rows / row_block, columns / block], or null
    int64_t of_expert, of_row;
    int64_t row_block, block;

    /// For weights [experts, rows, depth] and factors [experts, counts[0], counts[1]].
    static ExpertScales of(const float* data, const int64_t* counts, int64_t rows, int64_t depth, int64_t block) {
        const int64_t rowBlock = counts[0] == 1 ? rows : counts[0] == rows ? 1 : block;
        return {data, counts[0] * counts[1], counts[1], rowBlock, counts[1] == 1 ? depth : block};
    }
};

/// Weights of experts [experts, rows, columns] of any strides, in elements.
template <typename Element>
struct ExpertMatrix {
    const Element* data;
    int64_t of_expert, of_row, of_column;
    ExpertScales scales;

    /// The product of `size` numbers with a row.
    DIOPI_HOST_DEVICE double times(const float* x, int64_t expert, int64_t row, int64_t size) const {
        const Element* const from = data + expert * of_expert + row * of_row;
        if (scales.data == nullptr) {
            return dot(x, from, of_column, size);
        }
        const float* const factors = scales.data + expert * scales.of_expert + row / scales.row_block * scales.of_row;
        double sum = 0;
        for (int64_t begin = 0; begin < size; begin += scales.block) {
            const int64_t count = scales.block < size - begin ? scales.block : size - begin;
            const double part = dot(x + begin, from + begin * of_column, of_column, count);
            sum += part * factors[begin / scales.block];
        }
        return sum;
    }
};

/// The expert of this device that a token has in one of its positions, -1 for none.
struct LocalExpert {
    const int64_t* experts;  ///< [tokens, count]
    const int64_t* local;    ///< the number here of each expert, -1 for those elsewhere; null where all are here

    DIOPI_HOST_DEVICE int64_t operator()(int64_t position) const {
        const int64_t expert = experts[position];
        return expert < 0 || local == nullptr ? expert : local[expert];
    }
};

/// The gated hidden values of each expert of each token, by an ExpertMatrix or a PackedMatrix. Owners: tokens * count *
/// inner.
template <typename Matrix>
struct ExpertHidden {
    float* to;          ///< [tokens, count, inner]
    const float* x;     ///< [tokens, hidden]
    Matrix weight;      ///< [experts, 2 * inner, hidden]: gates, then the values that they multiply
    const float* bias;  ///< [experts, 2 * inner], or null
    LocalExpert expert_at;
    int64_t count, inner, hidden;
    Gate gate;

    DIOPI_HOST_DEVICE void operator()(int64_t owner) const {
        const int64_t position = owner / inner;
        const int64_t i = owner % inner;
        const int64_t expert = expert_at(position);
        if (expert < 0) {
            return;  // ExpertSum does not read it
        }
        const float* const row = x + position / count * hidden;
        double first = weight.times(row, expert, i, hidden);
        double second = weight.times(row, expert, inner + i, hidden);
        if (bias != nullptr) {
            first += bias[expert * 2 * inner + i];
            second += bias[expert * 2 * inner + inner + i];
        }
        to[owner] = static_cast<float>(activate(gate, first) * second);
    }
};

/// The weighted sum of what the experts of a token make of the hidden values. Owners: tokens * hidden.
template <typename Matrix>
struct ExpertSum {
    float* to;                  ///< [tokens, hidden]
    const float* inner_values;  ///< [tokens, count, inner]
    Matrix weight;              ///< [experts, hidden, inner]
    const float* bias;          ///< [experts, hidden], or null
    const float* weights;       ///< of the experts, [tokens, count]
    LocalExpert expert_at;
    int64_t count, inner, hidden;

    DIOPI_HOST_DEVICE void operator()(int64_t owner) const {
        const int64_t token = owner / hidden;
        const int64_t row = owner % hidden;
        double sum = 0;
        for (int64_t position = token * count; position < (token + 1) * count; ++position) {
            const int64_t expert = expert_at(position);
            if (expert >= 0) {
                double value = weight.times(inner_values + position * inner, expert, row, inner);
                value += bias == nullptr ? 0 : bias[expert * hidden + row];
                sum += value * weights[position];
            }
        }
        to[owner] = static_cast<float>(sum);
    }
};

/// The product of a row with the matrix of its group. Rows behind the last group are left out. Owners: rows * columns
/// of the result.
template <typename Element>
struct GroupedProduct {
    float* to;                     ///< [rows, width]
    const float* x;                ///< [rows, depth]
    ExpertMatrix<Element> weight;  ///< [groups, width, depth]
    const float* bias;             ///< [groups, width], or null
    const int64_t* ends;           ///< the row behind the last one of each group
    int64_t groups, width, depth;

    DIOPI_HOST_DEVICE void operator()(int64_t owner) const {
        const int64_t row = owner / width;
        const int64_t column = owner % width;
        int64_t group = 0;
        while (group < groups && ends[group] <= row) {
            ++group;
        }
        if (group < groups) {
            const double sum = weight.times(x + row * depth, group, column, depth);
            to[owner] = static_cast<float>(sum + (bias == nullptr ? 0 : bias[group * width + column]));
        }
    }
};

}  // namespace diopigen::kernels::serving

#endif  // DIOPIGEN_KERNELS_SERVING_EXPERTS_H_
