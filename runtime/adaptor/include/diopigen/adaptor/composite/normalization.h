// Layer and RMS norm.
#ifndef DIOPIGEN_ADAPTOR_COMPOSITE_NORMALIZATION_H_
#define DIOPIGEN_ADAPTOR_COMPOSITE_NORMALIZATION_H_

#include <diopi/functions.h>

#include <cstdint>

#include "arithmetic.h"
#include "composite.h"
#include "reduction.h"

namespace diopigen {
namespace adaptor {
namespace {
namespace composite {

// The trailing dimensions that normalized_shape names.
inline Sizes trailing(Composite& c, const Sizes& shape, const diopiSize_t& normalized) {
    const std::int64_t rank = static_cast<std::int64_t>(shape.size());
    Sizes dims;
    if (normalized.len < 1 || normalized.len > rank) {
        c.reject(diopiErrorOccurred, "normalized_shape does not name the trailing dimensions of input");
    }
    for (std::int64_t i = 0; i < normalized.len; ++i) {
        const std::int64_t dim = rank - normalized.len + i;
        if (shape[static_cast<std::size_t>(dim)] != normalized.data[i]) {
            c.reject(diopiErrorOccurred, "the trailing sizes of input are not normalized_shape");
        }
        dims.push_back(dim);
    }
    return dims;
}

inline Value scaled(Composite& c, Value value, diopiConstTensorHandle_t weight, diopiConstTensorHandle_t bias) {
    value = weight == nullptr ? value : value * c.tensor(weight);
    return bias == nullptr ? value : value + c.tensor(bias);
}

// Statistics have the dimensions that they were taken over with size 1, or leave them out.
inline void storeStatistics(Composite& c, diopiTensorHandle_t out, Value statistics, const Sizes& dims) {
    if (out != nullptr && c.shape(out).size() + dims.size() == c.shape(statistics.tensor).size()) {
        const diopiTensorHandle_t joined = c.make(c.shape(out));
        DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiSum, joined, statistics.tensor, asSize(dims));
        statistics = Value{&c, joined, 0.0};
    }
    c.store(out, statistics);
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
    storeStatistics(c, saveMean, center, dims);
    storeStatistics(c, saveInvstd, inverse, dims);
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

}  // namespace composite
}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_COMPOSITE_NORMALIZATION_H_
