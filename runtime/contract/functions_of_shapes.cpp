#include <utility>

#include "evaluator.h"
#include "shapes.h"

namespace diopigen::contract {

// Of tensors, lists and scalars; what is null does not take part.
bool Evaluator::broadcastOf(const Node& node, Sizes& result) const {
    Sizes joined;
    for (int i = 0; i < node.count; ++i) {
        Value found;
        if (!value(child(node, i), found) || found.type == Type::kScalar || found.type == Type::kNumber) {
            continue;
        }
        Sizes one;
        if (!sizes(child(node, i), one) || !broadcast(Sizes(joined), one, joined)) {
            return false;
        }
    }
    result = std::move(joined);
    return true;
}

bool Evaluator::ofShapes(const Node& node, Sizes& result) const {
    if (node.function == Fn::broadcast) {
        return broadcastOf(node, result);
    }
    const auto list = [&](int position, Sizes& found) { return sizes(child(node, position), found); };
    const auto one = [&](int position, int64_t& found) { return integer(child(node, position), found); };
    const auto flag = [&](int position, bool& found) { return boolean(child(node, position), found); };
    if (node.function == Fn::concat || node.function == Fn::stack) {
        TensorArray array;
        int64_t dim = 0;
        if (!tensors(child(node, 0), array) || !one(1, dim)) {
            return false;
        }
        std::vector<Sizes> shapes;
        for (int64_t i = 0; i < array.count; ++i) {
            shapes.push_back(array.first[i].sizes());
        }
        return node.function == Fn::concat ? concat(shapes, dim, result) : stack(shapes, dim, result);
    }
    Sizes shape;
    if (!list(0, shape)) {
        return false;
    }
    Sizes a;
    Sizes b;
    Sizes c;
    Sizes d;
    int64_t x = 0;
    int64_t y = 0;
    int64_t z = 0;
    int64_t w = 0;
    bool is = false;
    switch (node.function) {
        case Fn::reduce: {
            Value dims;
            a.clear();
            const bool isPresent = value(child(node, 1), dims);
            if ((isPresent && !list(1, a)) || (node.count > 2 && !flag(2, is))) {
                return false;
            }
            return reduce(shape, a, is, result);
        }
        case Fn::without:
            return one(1, x) && without(shape, x, result);
        case Fn::resize:
            return one(1, x) && one(2, y) && resize(shape, x, y, result);
        case Fn::matmul:
            return list(1, a) && matmul(shape, a, result);
        case Fn::conv:
            return list(1, a) && list(2, b) && list(3, c) && list(4, d) && conv(shape, a, b, c, d, result);
        case Fn::conv_transpose: {
            Sizes e;
            return list(1, a) && list(2, b) && list(3, c) && list(4, d) && one(5, x) && list(6, e) &&
                   convTranspose(shape, a, b, c, d, x, e, result);
        }
        case Fn::pool:
            return list(1, a) && list(2, b) && list(3, c) && list(4, d) && flag(5, is) &&
                   pool(shape, a, b, c, d, is, result);
        case Fn::adaptive_pool:
            return list(1, a) && adaptivePool(shape, a, result);
        case Fn::permute:
            return list(1, a) && permute(shape, a, result);
        case Fn::transpose:
            return one(1, x) && one(2, y) && transpose(shape, x, y, result);
        case Fn::repeat:
            return list(1, a) && repeat(shape, a, result);
        case Fn::pad:
            return list(1, a) && pad(shape, a, result);
        case Fn::unfold:
            return one(1, x) && one(2, y) && one(3, z) && unfold(shape, x, y, z, result);
        case Fn::slice:
            return one(1, x) && one(2, y) && one(3, z) && one(4, w) && slice(shape, x, y, z, w, result);
        default:
            return false;
    }
}

}  // namespace diopigen::contract
