// Values with other dimensions or in another order, and products of matrices.
#ifndef DIOPIGEN_ADAPTOR_COMPOSITE_ARRANGEMENT_H_
#define DIOPIGEN_ADAPTOR_COMPOSITE_ARRANGEMENT_H_

#include <diopi/functions.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "composite.h"

namespace diopigen {
namespace adaptor {
namespace {

// A place in a shape that has it.
inline std::int64_t& lengthOf(Composite& c, Sizes& sizes, std::int64_t dim) {
    if (dim < 0 || dim >= static_cast<std::int64_t>(sizes.size())) {
        c.reject(diopiErrorOccurred, "an input has too few dimensions");
    }
    return sizes[static_cast<std::size_t>(dim)];
}

inline Value transposed(Value value, std::int64_t first, std::int64_t second) {
    Composite& c = *value.owner;
    Sizes sizes = c.shape(value.tensor);
    std::swap(lengthOf(c, sizes, first), lengthOf(c, sizes, second));
    const Value result{&c, c.make(sizes), 0.0};
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiTranspose, writable(result), value.tensor, first, second);
    return result;
}

inline Value permuted(Value value, const Sizes& order) {
    Composite& c = *value.owner;
    Sizes sizes = c.shape(value.tensor);
    Sizes moved;
    for (const std::int64_t dim : order) {
        moved.push_back(lengthOf(c, sizes, dim));
    }
    const Value result{&c, c.make(moved), 0.0};
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiPermute, writable(result), value.tensor, asSize(order));
    return result;
}

// Repeated along new leading dimensions and along dimensions of one element.
inline Value expanded(Value value, const Sizes& sizes) {
    Composite& c = *value.owner;
    const Value result{&c, c.make(sizes), 0.0};
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiExpand, writable(result), value.tensor);
    return result;
}

// The slices of a dimension that an index of one dimension names.
inline Value selected(Value value, std::int64_t dim, diopiConstTensorHandle_t index) {
    Composite& c = *value.owner;
    Sizes sizes = c.shape(value.tensor);
    Sizes count = c.shape(index);
    lengthOf(c, sizes, dim) = lengthOf(c, count, 0);
    const Value result{&c, c.make(sizes), 0.0};
    DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiIndexSelect, writable(result), value.tensor, dim, index);
    return result;
}

// The product over the last two dimensions; those before them are equal on both sides, or missing on the right.
inline Value product(Value left, Value right) {
    Composite& c = *left.owner;
    Sizes sizes = c.shape(left.tensor);
    Sizes other = c.shape(right.tensor);
    lengthOf(c, sizes, static_cast<std::int64_t>(sizes.size()) - 1) =
        lengthOf(c, other, static_cast<std::int64_t>(other.size()) - 1);
    const Value result{&c, c.make(sizes), 0.0};
    if (diopiMatmul != nullptr || sizes.size() < 2 || sizes.size() > 3 || sizes.size() != other.size()) {
        DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiMatmul, writable(result), left.tensor, right.tensor);
    } else if (sizes.size() == 2) {
        DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiMm, writable(result), left.tensor, right.tensor);
    } else {
        DIOPIGEN_ADAPTOR_COMPOSITE_CALL(c, diopiBmm, writable(result), left.tensor, right.tensor);
    }
    return result;
}

}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_COMPOSITE_ARRANGEMENT_H_
