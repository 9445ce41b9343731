#include <utility>

#include "dtypes.h"
#include "evaluator.h"
#include "number.h"
#include "shapes.h"

namespace diopigen::contract {

namespace {

int64_t numelOf(const TensorView& tensor) {
    int64_t product = 1;
    for (int64_t i = 0; i < tensor.shape.len; ++i) {
        product *= tensor.shape.data[i];
    }
    return product;
}

}  // namespace

bool Evaluator::ofTensors(const Node& node, Value& result) const {
    if (node.function == Fn::broadcasts || node.function == Fn::broadcasts_to) {
        Sizes joined;
        Sizes last;
        bool isPossible = true;
        for (int i = 0; i < node.count; ++i) {
            if (!sizes(child(node, i), last)) {
                return false;
            }
            isPossible = isPossible && broadcast(Sizes(joined), last, joined);
        }
        result = Value::of(isPossible && (node.function == Fn::broadcasts || joined == last));
        return true;
    }
    if (node.function == Fn::axis) {
        Sizes shape;
        int64_t dim = 0;
        int64_t axis = 0;
        if (!sizes(child(node, 0), shape) || !integer(child(node, 1), dim) ||
            !axisOf(dim, static_cast<int64_t>(shape.size()), axis)) {
            return false;
        }
        result = Value::of(axis);
        return true;
    }
    if (node.function == Fn::indexed_dims || node.function == Fn::masks_fit) {
        return ofIndices(node, result);
    }
    if (node.function >= Fn::have_shape && node.function <= Fn::sizes_in) {
        return ofArrays(node, result);
    }
    if (node.function >= Fn::ranks && node.function <= Fn::same_shape) {
        TensorArray array;
        if (!tensors(child(node, 0), array)) {
            return false;
        }
        bool isAlike = true;
        Sizes found;
        for (int64_t i = 0; i < array.count; ++i) {
            const TensorView& one = array.first[i];
            found.push_back(node.function == Fn::ranks        ? one.shape.len
                            : node.function == Fn::categories ? category(one.dtype)
                                                              : numelOf(one));
            isAlike = isAlike && (node.function == Fn::same_dtype ? one.dtype == array.first[0].dtype
                                                                  : one.sizes() == array.first[0].sizes());
        }
        result = node.function <= Fn::categories ? Value::of(found) : Value::of(isAlike);
        return true;
    }
    TensorView found;
    if (!tensor(child(node, 0), found)) {
        return false;
    }
    switch (node.function) {
        case Fn::rank:
            result = Value::of(found.shape.len);
            return true;
        case Fn::numel:
            result = Value::of(numelOf(found));
            return true;
        case Fn::sizes:
            result = Value::of(found.sizes());
            return true;
        case Fn::size: {
            int64_t dim = 0;
            int64_t axis = 0;
            if (!integer(child(node, 1), dim) || !axisOf(dim, found.shape.len, axis)) {
                return false;
            }
            result = Value::of(found.shape.len == 0 ? int64_t{1} : found.shape.data[axis]);
            return true;
        }
        default:
            return plain(child(node, 0), result);
    }
}

// Shapes of the members of an array.
bool Evaluator::ofArrays(const Node& node, Value& result) const {
    TensorArray array;
    if (!tensors(child(node, 0), array)) {
        return false;
    }
    int64_t dim = 0;
    if (node.function == Fn::sizes_in) {
        Sizes found;
        if (!integer(child(node, 1), dim)) {
            return false;
        }
        for (int64_t i = 0; i < array.count; ++i) {
            const diopiSize_t& shape = array.first[i].shape;
            int64_t axis = 0;
            if (!axisOf(dim, shape.len, axis)) {
                return false;
            }
            found.push_back(shape.len == 0 ? 1 : shape.data[axis]);
        }
        result = Value::of(found);
        return true;
    }
    Sizes expected;
    if (!sizes(child(node, 1), expected)) {
        return false;
    }
    const size_t rank = expected.size();
    if (node.function == Fn::same_but &&
        (!integer(child(node, 2), dim) || !contract::without(Sizes(expected), dim, expected))) {
        return false;
    }
    bool isAlike = true;
    for (int64_t i = 0; i < array.count; ++i) {
        Sizes shape = array.first[i].sizes();
        const bool hasRank = shape.size() == rank;
        if (node.function == Fn::same_but && hasRank) {
            contract::without(Sizes(shape), dim, shape);
        }
        isAlike = isAlike && hasRank && shape == expected;
    }
    result = Value::of(isAlike);
    return true;
}

// Index tensors: a mask stands for as many dimensions as it has, anything else for one.
bool Evaluator::ofIndices(const Node& node, Value& result) const {
    const bool ofMasks = node.function == Fn::masks_fit;
    Sizes shape;
    Value found;
    if ((ofMasks && !sizes(child(node, 0), shape)) || !value(child(node, ofMasks ? 1 : 0), found) ||
        found.type != Type::kTensors || found.tensors.members == nullptr) {
        return false;
    }
    int64_t dims = 0;
    bool fits = true;
    for (const TensorView& index : *found.tensors.members) {
        const bool isMask = index.dtype == diopi_dtype_bool || index.dtype == diopi_dtype_uint8;
        const int64_t covers = !index.isNull() && isMask ? index.shape.len : 1;
        for (int64_t i = 0; ofMasks && isMask && !index.isNull() && i < covers; ++i) {
            const auto at = static_cast<size_t>(dims + i);
            if (at >= shape.size()) {
                return false;
            }
            fits = fits && shape[at] == index.shape.data[i];
        }
        dims += covers;
    }
    result = ofMasks ? Value::of(fits) : Value::of(dims);
    return true;
}

}  // namespace diopigen::contract
