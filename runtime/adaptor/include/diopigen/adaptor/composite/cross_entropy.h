// Cross entropy with class indices and with class probabilities.
#ifndef DIOPIGEN_ADAPTOR_COMPOSITE_CROSS_ENTROPY_H_
#define DIOPIGEN_ADAPTOR_COMPOSITE_CROSS_ENTROPY_H_

#include <diopi/functions.h>

#include <cstddef>
#include <cstdint>

#include "arithmetic.h"
#include "arrangement.h"
#include "composite.h"
#include "reduction.h"
#include "softmax.h"

namespace diopigen {
namespace adaptor {
namespace {
namespace composite {

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
    Value factors = permuted(target, order);
    factors = weight.tensor == nullptr ? factors : factors * weight;
    // A class of factor 0 adds nothing, also where its logarithm is -inf.
    const diopiTensorHandle_t counts = c.make(c.shape(factors.tensor), diopi_dtype_bool);
    const diopiScalar_t zero = c.asScalar(0.0);
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiNeScalar, counts, factors.tensor, &zero);
    const Value parts = where(Value{&c, counts, 0.0}, -(permuted(logs, order) * factors), c.number(0.0));
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
        c.reject(diopiErrorOccurred, "input has no classes, or label_smoothing is not between 0 and 1");
    }
    const std::size_t classDim = shape.size() > 1 ? 1 : 0;
    const std::int64_t classes = shape[classDim];
    Sizes samples = shape;
    samples.erase(samples.begin() + static_cast<std::ptrdiff_t>(classDim));
    const bool isProbability = Composite::isFloating(c.dtypeOf(target));
    const Sizes expected = isProbability ? shape : samples;
    if (c.shape(target) != expected || (isProbability && ignoreIndex >= 0)) {
        c.reject(diopiErrorOccurred, "target does not go with input and ignore_index");
    }
    const Value logs = logSoftmaxOf(c, c.tensor(input), static_cast<std::int64_t>(classDim));
    const Value weights = c.tensor(weight);
    c.store(out, isProbability ? probabilityLoss(c, logs, classes, c.tensor(target), weights, reduction, labelSmoothing)
                               : indexLoss(c, logs, classes, target, weights, reduction, ignoreIndex, labelSmoothing));
}

}  // namespace composite
}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_COMPOSITE_CROSS_ENTROPY_H_
