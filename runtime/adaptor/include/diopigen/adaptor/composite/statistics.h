// Mean and standard deviation.
#ifndef DIOPIGEN_ADAPTOR_COMPOSITE_STATISTICS_H_
#define DIOPIGEN_ADAPTOR_COMPOSITE_STATISTICS_H_

#include <diopi/functions.h>

#include "arithmetic.h"
#include "composite.h"
#include "reduction.h"

namespace diopigen {
namespace adaptor {
namespace {
namespace composite {

inline void mean(Composite& c, diopiTensorHandle_t out, diopiConstTensorHandle_t input, diopiSize_t dim) {
    const Sizes shape = c.shape(input);
    const Sizes dims = dimensions(c, shape, dim.data, dim.len);
    c.store(out, sum(c.tensor(input), dims, c.shape(out)) / elementsIn(shape, dims));
}

// The distance of complex numbers from their mean: its absolute value, which is real.
inline Value complexDistance(Composite& c, diopiConstTensorHandle_t input, const Sizes& dims) {
    const Sizes shape = c.shape(input);
    const diopiDtype_t dtype = c.dtypeOf(input);
    if (dims.empty()) {
        return filled(c, shape, 0.0);
    }
    const Sizes sizes = withSizeOne(shape, dims);
    const diopiTensorHandle_t total = c.make(sizes, dtype);
    const diopiTensorHandle_t center = c.make(sizes, dtype);
    const diopiTensorHandle_t difference = c.make(shape, dtype);
    const diopiTensorHandle_t distance =
        c.make(shape, dtype == diopi_dtype_complex128 ? diopi_dtype_float64 : diopi_dtype_float32);
    const diopiScalar_t count = c.asScalar(elementsIn(shape, dims));
    const diopiScalar_t one = c.asScalar(1.0);
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiSum, total, input, asSize(dims));
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiDivScalar, center, total, &count, RoundModeNone);
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiSub, difference, input, center, &one);
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiAbs, distance, difference);
    return c.tensor(distance);
}

inline void standardDeviation(Composite& c, diopiTensorHandle_t out, diopiConstTensorHandle_t input, diopiSize_t dim,
                              const diopiScalar_t* correction) {
    const Sizes shape = c.shape(input);
    const Sizes dims = dimensions(c, shape, dim.data, dim.len);
    Value distance = c.number(0.0);
    if (Composite::isFloating(c.dtypeOf(input))) {
        const Value x = c.tensor(input);
        distance = x - adaptor::mean(x, dims);
    } else {
        distance = complexDistance(c, input, dims);
    }
    const double divisor = elementsIn(shape, dims) - (correction == nullptr ? 1.0 : c.number(correction).number);
    const Value total = sum(distance * distance, dims, c.shape(out));
    c.store(out, squareRoot(total / (divisor > 0.0 ? divisor : 0.0)));
}

}  // namespace composite
}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_COMPOSITE_STATISTICS_H_
