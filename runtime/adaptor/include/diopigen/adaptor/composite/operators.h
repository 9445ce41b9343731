// Composite operators that are more than one expression per element. Each has the parameters of the public function.
#ifndef DIOPIGEN_ADAPTOR_COMPOSITE_OPERATORS_H_
#define DIOPIGEN_ADAPTOR_COMPOSITE_OPERATORS_H_

#include "composite.h"

namespace diopigen {
namespace adaptor {
namespace {
namespace composite {

// ---- Reductions ----

inline void mean(Composite& c, diopiTensorHandle_t out, diopiConstTensorHandle_t input, diopiSize_t dim) {
    const Sizes shape = c.shape(input);
    const Sizes dims = dimensions(c, shape, dim.data, dim.len);
    c.store(out, sum(c.tensor(input), dims, c.shape(out)) / elementsIn(shape, dims));
}

inline void standardDeviation(Composite& c, diopiTensorHandle_t out, diopiConstTensorHandle_t input, diopiSize_t dim,
                              const diopiScalar_t* correction) {
    if (!Composite::isFloating(Composite::dtypeOf(input))) {
        c.refuse(diopiNoImplement, "the composite takes no complex numbers");
        return;
    }
    const Value x = c.tensor(input);
    const Sizes shape = c.shape(input);
    const Sizes dims = dimensions(c, shape, dim.data, dim.len);
    const Value distance = x - adaptor::mean(x, dims);
    const double divisor = elementsIn(shape, dims) - (correction == nullptr ? 1.0 : c.number(correction).number);
    const Value total = sum(distance * distance, dims, c.shape(out));
    c.store(out, squareRoot(total / (divisor > 0.0 ? divisor : 0.0)));
}

// ---- Softmax ----

inline Value shifted(Composite& c, Value x, std::int64_t& dim) {
    const Sizes dims = dimensions(c, c.shape(x.tensor), &dim, 1);
    dim = dims.empty() ? -1 : dims[0];
    return dims.empty() || !c.good() ? x - x : x - largest(x, dim);
}

inline Sizes along(std::int64_t dim) { return dim < 0 ? Sizes() : Sizes{dim}; }

inline Value logSoftmaxOf(Composite& c, Value x, std::int64_t dim) {
    const Value distance = shifted(c, x, dim);
    return distance - logarithm(sum(exponential(distance), along(dim)));
}

inline void softmax(Composite& c, diopiTensorHandle_t out, diopiConstTensorHandle_t input, std::int64_t dim) {
    const Value powers = exponential(shifted(c, c.tensor(input), dim));
    c.store(out, powers / sum(powers, along(dim)));
}

inline void logSoftmax(Composite& c, diopiTensorHandle_t out, diopiConstTensorHandle_t input, std::int64_t dim) {
    c.store(out, logSoftmaxOf(c, c.tensor(input), dim));
}

// ---- Normalisation ----

// The trailing dimensions that normalized_shape names.
inline Sizes trailing(Composite& c, const Sizes& shape, const diopiSize_t& normalized) {
    const std::int64_t rank = static_cast<std::int64_t>(shape.size());
    Sizes dims;
    if (normalized.len < 1 || normalized.len > rank) {
        c.refuse(diopiErrorOccurred, "normalized_shape does not name the trailing dimensions of input");
        return dims;
    }
    for (std::int64_t i = 0; i < normalized.len; ++i) {
        const std::int64_t dim = rank - normalized.len + i;
        if (shape[static_cast<std::size_t>(dim)] != normalized.data[i]) {
            c.refuse(diopiErrorOccurred, "the trailing sizes of input are not normalized_shape");
        }
        dims.push_back(dim);
    }
    return dims;
}

inline Value scaled(Composite& c, Value value, diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias) {
    value = weight == nullptr ? value : value * c.tensor(weight);
    return bias == nullptr ? value : value + c.tensor(bias);
}

inline void layerNorm(Composite& c, diopiTensorHandle_t out, diopiTensorHandle_t saveMean,
                      diopiTensorHandle_t saveInvstd, diopiConstTensorHandle_t input, diopiConstTensorHandle_t weight,
                      diopiConstTensorHandle_t bias, diopiSize_t normalizedShape, double eps) {
    const Sizes dims = trailing(c, c.shape(input), normalizedShape);
    const Value x = c.tensor(input);
    const Value center = adaptor::mean(x, dims);
    const Value distance = x - center;
    const Value deviation = squareRoot(adaptor::mean(distance * distance, dims) + c.number(eps));
    const Value inverse = c.number(1.0) / deviation;
    const Value result = scaled(c, distance * inverse, weight, bias);
    c.store(saveMean, center);
    c.store(saveInvstd, inverse);
    c.store(out, result);
}

inline void rmsNorm(Composite& c, diopiTensorHandle_t out, diopiTensorHandle_t invRms, diopiConstTensorHandle_t input,
                    diopiSize_t normalizedShape, diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias,
                    double eps) {
    const Sizes dims = trailing(c, c.shape(input), normalizedShape);
    const Value x = c.tensor(input);
    const Value inverse = c.number(1.0) / squareRoot(adaptor::mean(x * x, dims) + c.number(eps));
    const Value result = scaled(c, x * inverse, weight, bias);
    c.store(invRms, inverse);
    c.store(out, result);
}

// ---- Matrices ----

// beta * input + alpha * product; an input that counts for nothing is not read, NaN or not.
inline Value weighted(Composite& c, diopiConstTensorHandle_t input, double beta, Value matrices, double alpha) {
    const Value right = alpha == 1.0 ? matrices : c.number(alpha) * matrices;
    if (beta == 0.0) {
        return right;
    }
    return (beta == 1.0 ? c.tensor(input) : c.number(beta) * c.tensor(input)) + right;
}

inline void addmm(Composite& c, diopiTensorHandle_t out, diopiConstTensorHandle_t input, diopiConstTensorHandle_t mat1,
                  diopiConstTensorHandle_t mat2, const diopiScalar_t* beta, const diopiScalar_t* alpha) {
    const Value matrices = product(c.tensor(mat1), c.tensor(mat2));
    c.store(out, weighted(c, input, beta == nullptr ? 1.0 : c.number(beta).number, matrices,
                          alpha == nullptr ? 1.0 : c.number(alpha).number));
}

inline void baddbmm(Composite& c, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                    diopiConstTensorHandle_t batch1, diopiConstTensorHandle_t batch2, double beta, double alpha) {
    c.store(out, weighted(c, input, beta, product(c.tensor(batch1), c.tensor(batch2)), alpha));
}

inline void linear(Composite& c, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                   diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias) {
    const Value result = product(c.tensor(input), transposed(c.tensor(weight), 0, 1));
    c.store(out, bias == nullptr ? result : result + c.tensor(bias));
}

// ---- Cross entropy ----

inline diopiTensorHandle_t negativeLogLikelihood(Composite& c, const Sizes& shape, Value logs,
                                                 diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight,
                                                 diopiReduction_t reduction, std::int64_t ignoreIndex) {
    const diopiTensorHandle_t loss = c.make(shape);
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiNLLLoss, loss, logs.tensor, target, weight, reduction, ignoreIndex);
    return loss;
}

// Class indices. What smoothing spreads over all classes counts for the samples that count, and no others.
inline Value indexLoss(Composite& c, Value logs, std::int64_t classes, diopiConstTensorHandle_t target, Value weight,
                       diopiReduction_t reduction, std::int64_t ignoreIndex, double smoothing) {
    const Sizes samples = c.shape(target);
    if (smoothing == 0.0) {
        const Sizes shape = reduction == ReductionNone ? samples : Sizes();
        return Value{&c, negativeLogLikelihood(c, shape, logs, target, weight.tensor, reduction, ignoreIndex), 0.0};
    }
    const std::int64_t rank = static_cast<std::int64_t>(c.shape(logs.tensor).size());
    const std::int64_t classDim = rank > 1 ? 1 : 0;
    // Classes last, so that the weights meet them.
    Sizes order;
    for (std::int64_t i = 0; i < rank; ++i) {
        if (i != classDim) {
            order.push_back(i);
        }
    }
    order.push_back(classDim);
    Value spread = -permuted(logs, order);
    spread = weight.tensor == nullptr ? spread : spread * weight;
    // Without the dimension of the classes: its sum is moved into a tensor of the samples' shape.
    const diopiTensorHandle_t perSample = c.make(samples);
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiSum, perSample, spread.tensor, asSize(Sizes{rank - 1}));
    const diopiTensorHandle_t counts = c.make(samples, diopi_dtype_bool);
    diopiScalar_t ignored;
    ignored.stype = diopi_dtype_int64;
    ignored.ival = ignoreIndex;
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiNeScalar, counts, target, &ignored);
    const Value uniform = where(Value{&c, counts, 0.0}, Value{&c, perSample, 0.0}, c.number(0.0));
    const Value hit = {&c, negativeLogLikelihood(c, samples, logs, target, weight.tensor, ReductionNone, ignoreIndex),
                       0.0};
    const Value loss = c.number(1.0 - smoothing) * hit + c.number(smoothing / static_cast<double>(classes)) * uniform;
    if (reduction == ReductionNone) {
        return loss;
    }
    const Value total = sum(loss, dimensions(c, samples, nullptr, 0), {});
    if (reduction == ReductionSum) {
        return total;
    }
    // The weights of the samples that count: their loss where every logarithm is -1.
    const diopiTensorHandle_t ones = c.make(c.shape(logs.tensor));
    const diopiScalar_t minusOne = c.asScalar(-1.0);
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiFill, ones, &minusOne);
    const Value unit = {&c, ones, 0.0};
    return total / Value{&c, negativeLogLikelihood(c, {}, unit, target, weight.tensor, ReductionSum, ignoreIndex), 0.0};
}

// Class probabilities.
inline Value probabilityLoss(Composite& c, Value logs, std::int64_t classes, Value target, Value weight,
                             diopiReduction_t reduction, double smoothing) {
    const Sizes shape = c.shape(logs.tensor);
    const std::int64_t rank = static_cast<std::int64_t>(shape.size());
    const std::int64_t classDim = rank > 1 ? 1 : 0;
    if (smoothing > 0.0) {
        target = target * c.number(1.0 - smoothing) + c.number(smoothing / static_cast<double>(classes));
    }
    Value parts = -(logs * target);
    Sizes samples;
    Sizes order;
    double count = 1.0;
    for (std::int64_t i = 0; i < rank; ++i) {
        if (i != classDim) {
            order.push_back(i);
            samples.push_back(shape[static_cast<std::size_t>(i)]);
            count *= static_cast<double>(samples.back());
        }
    }
    order.push_back(classDim);
    parts = permuted(parts, order);
    parts = weight.tensor == nullptr ? parts : parts * weight;
    const diopiTensorHandle_t loss = c.make(samples);
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiSum, loss, parts.tensor, asSize(Sizes{rank - 1}));
    const Value each = {&c, loss, 0.0};
    if (reduction == ReductionNone) {
        return each;
    }
    const Value total = sum(each, dimensions(c, samples, nullptr, 0), {});
    return reduction == ReductionSum ? total : total / c.number(count);
}

inline void crossEntropy(Composite& c, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                         diopiConstTensorHandle_t target, diopiConstTensorHandle_t weight, diopiReduction_t reduction,
                         std::int64_t ignoreIndex, double labelSmoothing) {
    const Sizes shape = c.shape(input);
    if (shape.empty() || !(labelSmoothing >= 0.0 && labelSmoothing <= 1.0)) {
        c.refuse(diopiErrorOccurred, "input has no classes, or label_smoothing is not between 0 and 1");
        return;
    }
    const std::size_t classDim = shape.size() > 1 ? 1 : 0;
    const std::int64_t classes = shape[classDim];
    Sizes samples = shape;
    samples.erase(samples.begin() + static_cast<std::ptrdiff_t>(classDim));
    const bool isProbability = Composite::isFloating(Composite::dtypeOf(target));
    const Sizes expected = isProbability ? shape : samples;
    if (c.shape(target) != expected || (isProbability && ignoreIndex >= 0)) {
        c.refuse(diopiErrorOccurred, "target does not go with input and ignore_index");
        return;
    }
    const Value logs = logSoftmaxOf(c, c.tensor(input), static_cast<std::int64_t>(classDim));
    const Value weights = c.tensor(weight);
    c.store(out, isProbability ? probabilityLoss(c, logs, classes, c.tensor(target), weights, reduction, labelSmoothing)
                               : indexLoss(c, logs, classes, target, weights, reduction, ignoreIndex, labelSmoothing));
}

// ---- Attention ----

// Softmax attention over [batch, sequence, heads, head_dim], without dropout.
inline void attention(Composite& c, diopiTensorHandle_t out, diopiTensorHandle_t softmaxLse, diopiConstTensorHandle_t q,
                      diopiConstTensorHandle_t k, diopiConstTensorHandle_t v, double scale, bool isCausal) {
    const Sizes queries = c.shape(q);
    const Sizes keys = c.shape(k);
    if (queries.size() != 4 || keys.size() != 4 || queries[2] != keys[2]) {
        c.refuse(diopiNoImplement, "the composite needs as many heads of keys as of queries");
        return;
    }
    const Value heads = permuted(c.tensor(q), {0, 2, 1, 3});
    Value scores = product(heads, permuted(c.tensor(k), {0, 2, 3, 1})) * c.number(scale);
    if (isCausal) {
        // Query i sees the keys up to i + seq_k - seq_q.
        const diopiTensorHandle_t ones = c.make({queries[1], keys[1]}, diopi_dtype_float32);
        const diopiTensorHandle_t above = c.make({queries[1], keys[1]}, diopi_dtype_float32);
        const diopiScalar_t one = c.asScalar(1.0);
        DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiFill, ones, &one);
        DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiTriu, above, ones, keys[1] - queries[1] + 1);
        const Value hidden = c.number(0.0) < Value{&c, above, 0.0};
        scores = where(hidden, c.number(-HUGE_VAL), scores);
    }
    // A query that sees nothing gets zeros: its largest score, minus infinity, counts as 0.
    Value top = largest(scores, 3);
    top = where(c.number(-HUGE_VAL) < top, top, c.number(0.0));
    const Value powers = exponential(scores - top);
    const Value total = sum(powers, {3});
    const Value divisor = where(c.number(0.0) < total, total, c.number(1.0));
    const Value result = permuted(product(powers / divisor, permuted(c.tensor(v), {0, 2, 1, 3})), {0, 2, 1, 3});
    if (softmaxLse != nullptr) {
        // Without the last dimension, which has one element.
        const diopiTensorHandle_t lse = c.make({queries[0], queries[2], queries[1]});
        DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiSum, lse, (top + logarithm(total)).tensor, asSize(Sizes{3}));
        c.store(softmaxLse, Value{&c, lse, 0.0});
    }
    c.store(out, result);
}

inline void multiHeadAttention(Composite& c, diopiTensorHandle_t q, diopiTensorHandle_t k, diopiTensorHandle_t v,
                               double dropout, bool isCausal, bool returnDebugMask, double scale,
                               diopiTensorHandle_t out, diopiTensorHandle_t softmaxLse, diopiGeneratorHandle_t,
                               diopiTensorHandle_t) {
    if (dropout != 0.0 || returnDebugMask) {
        c.refuse(diopiNoImplement, "the composite has no dropout");
        return;
    }
    attention(c, out, softmaxLse, q, k, v, scale, isCausal);
}

inline void flashAttention(Composite& c, diopiTensorHandle_t out, diopiTensorHandle_t softmaxLse,
                           diopiGeneratorHandle_t, diopiConstTensorHandle_t q, diopiConstTensorHandle_t k,
                           diopiConstTensorHandle_t v, diopiConstTensorHandle_t alibiSlopes, float dropout, float scale,
                           bool isCausal, std::int32_t windowLeft, std::int32_t windowRight) {
    if (dropout != 0.0F || alibiSlopes != nullptr || windowLeft >= 0 || (windowRight >= 0 && !isCausal)) {
        c.refuse(diopiNoImplement, "the composite has no dropout, no linear bias and no window");
        return;
    }
    attention(c, out, softmaxLse, q, k, v, static_cast<double>(scale), isCausal);
}

}  // namespace composite
}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_COMPOSITE_OPERATORS_H_
