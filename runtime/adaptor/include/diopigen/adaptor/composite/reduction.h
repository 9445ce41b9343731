// Values over dimensions. Where no shape is given the dimensions stay, with one element.
#ifndef DIOPIGEN_ADAPTOR_COMPOSITE_REDUCTION_H_
#define DIOPIGEN_ADAPTOR_COMPOSITE_REDUCTION_H_

#include <diopi/functions.h>

#include <cstdint>

#include "arithmetic.h"
#include "composite.h"

namespace diopigen {
namespace adaptor {
namespace {

inline Sizes withSizeOne(Sizes sizes, const Sizes& dims) {
    for (const std::int64_t dim : dims) {
        sizes[static_cast<std::size_t>(dim)] = 1;
    }
    return sizes;
}

// Dimensions as 0 and more; none means all. A dimension that there is not is an error of the call.
inline Sizes dimensions(Composite& c, const Sizes& shape, const std::int64_t* dims, std::int64_t count) {
    const std::int64_t rank = static_cast<std::int64_t>(shape.size());
    Sizes found;
    for (std::int64_t i = 0; i < (count == 0 ? rank : count); ++i) {
        const std::int64_t dim = count == 0 ? i : (dims[i] < 0 ? dims[i] + (rank == 0 ? 1 : rank) : dims[i]);
        if (dim < 0 || dim >= (rank == 0 ? 1 : rank)) {
            c.reject(diopiErrorOccurred, "a dimension is outside of the input's");
        }
        if (rank > 0) {
            found.push_back(dim);
        }
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
        for (std::size_t k = 0; k < i; ++k) {
            if (found[i] == found[k]) {
                c.reject(diopiErrorOccurred, "a dimension is named twice");
            }
        }
    }
    return found;
}

inline double elementsIn(const Sizes& shape, const Sizes& dims) {
    double count = 1.0;
    for (const std::int64_t dim : dims) {
        count *= static_cast<double>(shape[static_cast<std::size_t>(dim)]);
    }
    return count;
}

// `result` says whether the dimensions stay; without dimensions there is nothing to sum.
inline Value sum(Value value, const Sizes& dims, const Sizes& result) {
    Composite& c = *value.owner;
    if (dims.empty()) {
        return value;
    }
    Sizes dropped;
    const Sizes shape = c.shape(value.tensor);
    for (std::size_t i = 0; i < shape.size(); ++i) {
        bool reduced = false;
        for (const std::int64_t dim : dims) {
            reduced = reduced || dim == static_cast<std::int64_t>(i);
        }
        if (!reduced) {
            dropped.push_back(shape[i]);
        }
    }
    if (result != dropped && result != withSizeOne(shape, dims)) {
        c.reject(diopiErrorOccurred, "an output does not have the shape of the result");
    }
    const Value total{&c, c.make(result), 0.0};
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiSum, writable(total), value.tensor, asSize(dims));
    return total;
}

inline Value sum(Value value, const Sizes& dims) {
    return dims.empty() ? value : sum(value, dims, withSizeOne(value.owner->shape(value.tensor), dims));
}

inline Value mean(Value value, const Sizes& dims) {
    Composite& c = *value.owner;
    return sum(value, dims) / c.number(elementsIn(c.shape(value.tensor), dims));
}

inline Value largest(Value value, std::int64_t dim) {
    Composite& c = *value.owner;
    const Sizes dims = {dim};
    const Sizes sizes = withSizeOne(c.shape(value.tensor), dims);
    const Value result{&c, c.make(sizes), 0.0};
    if (diopiAmax != nullptr) {
        DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiAmax, writable(result), value.tensor, asSize(dims), true);
    } else {
        const diopiTensorHandle_t indices = c.make(sizes, diopi_dtype_int64);
        DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiMax, writable(result), indices, value.tensor, dim);
    }
    return result;
}

}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_COMPOSITE_REDUCTION_H_
