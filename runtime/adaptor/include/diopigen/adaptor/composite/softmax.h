// Softmax and its logarithm.
#ifndef DIOPIGEN_ADAPTOR_COMPOSITE_SOFTMAX_H_
#define DIOPIGEN_ADAPTOR_COMPOSITE_SOFTMAX_H_

#include <diopi/functions.h>

#include <cstdint>

#include "arithmetic.h"
#include "composite.h"
#include "reduction.h"

namespace diopigen {
namespace adaptor {
namespace {
namespace composite {

inline Value shifted(Composite& c, Value x, std::int64_t& dim) {
    const Sizes dims = dimensions(c, c.shape(x.tensor), &dim, 1);
    dim = dims.empty() ? -1 : dims[0];
    return dims.empty() ? x - x : x - largest(x, dim);
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

}  // namespace composite
}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_COMPOSITE_SOFTMAX_H_
