#include <algorithm>

#include "shapes.h"
#include "tensor.h"
#include "text.h"
#include "validation.h"

namespace diopigen::contract {

namespace {

bool isSameShape(const diopiSize_t& a, const diopiSize_t& b) {
    return a.len == b.len && std::equal(a.data, a.data + a.len, b.data);
}

bool isAlike(const Sizes& shape, const Sizes& expected) {
    const auto isOne = [](const Sizes& sizes) { return sizes.empty() || sizes == Sizes{1}; };
    return shape == expected || (isOne(shape) && isOne(expected));
}

// What the variadic entry at `position` of `count` stands for in a tensor that fits the list.
Sizes spreadOf(const TensorView& tensor, int position, int count) {
    const int64_t last = tensor.shape.len - (count - position - 1);
    return last <= position ? Sizes() : Sizes(tensor.shape.data + position, tensor.shape.data + last);
}

// Whether the library decides on the shape of something that is read.
bool hasFreeShape(const Parameter* rules, Operands operands) {
    return std::any_of(rules, rules + operands.count,
                       [](const Parameter& rule) { return rule.isRead && (rule.free & kFreeShape) != 0; });
}

Sizes withoutOnes(Sizes sizes) {
    sizes.erase(std::remove(sizes.begin(), sizes.end(), 1), sizes.end());
    return sizes;
}

}  // namespace

// Ranks of tensors with a list of dimensions; what fits binds the names in it. Members of arrays bind none.
void Validation::ranks(int i) {
    if (rules_[i].shape == ShapeForm::kList) {
        eachTensor(i, [&](const TensorView& tensor) { rankOf(i, tensor); });
    }
}

void Validation::rankOf(int i, const TensorView& tensor) {
    const Parameter& rule = rules_[i];
    const Dimension* const entries = &dimensions[rule.shapeFirst];
    int variadic = -1;
    for (int k = 0; k < rule.shapeCount; ++k) {
        variadic = entries[k].kind == Entry::kVariadic ? k : variadic;
    }
    const int64_t rank = tensor.shape.len;
    const int64_t fixed = rule.shapeCount - (variadic >= 0 ? 1 : 0);
    // [] and [1] stand for each other, but for a list with a variadic entry, whose named dimensions must be there.
    const bool isOne = variadic < 0 && fixed <= 1 && (rank == 0 || (rank == 1 && tensor.shape.data[0] == 1));
    if (variadic >= 0 ? rank < fixed : rank != fixed) {
        if ((rule.free & kFreeShape) == 0 && !isOne) {
            fail(i, "is " + textOfOperand(i) + " and must have " + (variadic >= 0 ? "at least " : "") +
                        std::to_string(fixed) + " dimensions");
        }
        if ((rule.free & kFreeShape) != 0 || rank > 0 || !isOne) {
            return;
        }
    }
    if (!rule.isRead || argument(i).isArray) {
        return;
    }
    for (int k = 0; k < rule.shapeCount; ++k) {
        if (entries[k].name < 0) {
            continue;
        }
        if (k == variadic) {
            bindSpread(i, entries[k].name, spreadOf(tensor, k, rule.shapeCount));
            continue;
        }
        const int64_t at = variadic >= 0 && k > variadic ? rank - rule.shapeCount + k : k;
        const auto name = static_cast<size_t>(entries[k].name);
        if (!arguments_.isBound[name]) {
            arguments_.isBound[name] = true;
            arguments_.dimensions[name] = rank == 0 ? 1 : tensor.shape.data[at];
        }
    }
}

// Tensors that are read broadcast in the dimensions of one variadic entry.
void Validation::bindSpread(int i, int16_t name, const Sizes& sizes) {
    const auto known = spreads_.find(name);
    if (known == spreads_.end()) {
        spreads_[name] = sizes;
        return;
    }
    if (!broadcast(known->second, sizes, known->second)) {
        fail(i, "is " + textOfOperand(i) + ", and " + textOf(sizes) + " does not broadcast with " +
                    textOf(known->second) + " of other tensors");
    }
}

void Validation::spread(int i, int16_t name, const Sizes& sizes) {
    const auto known = spreads_.find(name);
    // Where the shape of an operand is free, so is how many dimensions of the result are the variadic ones.
    if (hasFreeShape(rules_, operands_)) {
        return;
    }
    if (known != spreads_.end() && !isAlike(sizes, known->second)) {
        fail(i,
             "is " + textOfOperand(i) + " and must have " + textOf(known->second) + " where it has " + textOf(sizes));
    }
}

void Validation::shapes(int i) {
    const Parameter& rule = rules_[i];
    const Argument& one = argument(i);
    if (!one.isTensor || one.isNull) {
        return;
    }
    if ((rule.free & kFreeShape) != 0) {
        // Whatever a library makes of its shape, its operands have to broadcast.
        Sizes ignored;
        const Node& node = nodes[rule.shapeFirst];
        if (rule.shape == ShapeForm::kRule && node.function == Fn::broadcast &&
            !evaluateShape(arguments_, rule.shapeFirst, ignored)) {
            noShape(i, node);
        }
        return;
    }
    if (rule.shape == ShapeForm::kList) {
        eachTensor(i, [&](const TensorView& tensor) { listed(i, rule, tensor); });
    } else if (rule.shape == ShapeForm::kRule || rule.shape == ShapeForm::kBroadcastable) {
        ruled(i, rule, one);
    }
}

void Validation::listed(int i, const Parameter& rule, const TensorView& tensor) {
    const Dimension* const entries = &dimensions[rule.shapeFirst];
    const int64_t rank = tensor.shape.len;
    bool isVariadic = false;
    for (int k = 0; k < rule.shapeCount; ++k) {
        if (entries[k].kind == Entry::kVariadic) {
            isVariadic = true;
            if (operands_.first[i].isWritten() && entries[k].name >= 0) {
                spread(i, entries[k].name, spreadOf(tensor, k, rule.shapeCount));
            }
            continue;
        }
        const int64_t at = isVariadic ? rank - rule.shapeCount + k : k;
        const int64_t size = rank == 0 ? 1 : tensor.shape.data[at];  // [] and [1] stand for each other
        int64_t expected = 0;
        if (entries[k].kind == Entry::kUnknown) {
            continue;
        }
        const bool isKnown = entries[k].name >= 0 ? bound(entries[k].name, expected)
                                                  : evaluateInteger(arguments_, entries[k].formula, expected);
        if (!isKnown && hasFreeShape(rules_, operands_)) {
            continue;  // it may be of another rank, and then binds no names
        }
        if (!isKnown) {
            fail(i, "is " + textOfOperand(i) + ", and what dimension " + std::to_string(at) +
                        " must be does not follow from the other arguments");
            return;
        }
        if (size != expected) {
            fail(i, "is " + textOfOperand(i) + " and must have " + std::to_string(expected) + " in dimension " +
                        std::to_string(at));
            return;
        }
    }
}

bool Validation::bound(int16_t name, int64_t& size) const {
    size = arguments_.dimensions[static_cast<size_t>(name)];
    return arguments_.isBound[static_cast<size_t>(name)];
}

void Validation::ruled(int i, const Parameter& rule, const Argument& one) {
    const Node& node = nodes[rule.shapeFirst];
    if (one.isArray) {
        arrayLike(i, rule, node, one);
        return;
    }
    if (isPlainly(node, one.tensor)) {
        return;
    }
    if (node.function == Fn::one_of) {
        alternativeShape(i, node, one.tensor.sizes());
        return;
    }
    Sizes expected;
    if (!evaluateShape(arguments_, rule.shapeFirst, expected)) {
        noShape(i, node);
        return;
    }
    const Sizes shape = one.tensor.sizes();
    if (rule.shape == ShapeForm::kBroadcastable) {
        Sizes joined;
        if (!broadcast(shape, expected, joined) || !isAlike(joined, expected)) {
            fail(i, "is " + textOfOperand(i) + ", which does not broadcast to " + textOf(expected));
        }
        return;
    }
    if (isAlike(shape, expected)) {
        return;
    }
    // Without a flag for it, reduced dimensions may stay with size 1.
    const bool mayKeepOnes = node.function == Fn::reduce && node.count == 2;
    if (mayKeepOnes && withoutOnes(shape) == withoutOnes(expected)) {
        return;
    }
    fail(i,
         "is " + textOfOperand(i) + " and must have the shape " + textOf(expected) + " (" + textOfOperands(node) + ")");
}

// Any of the shapes that the rule allows.
void Validation::alternativeShape(int i, const Node& node, const Sizes& shape) {
    std::string possible;
    for (int k = 0; k < node.count; ++k) {
        Sizes one;
        if (!evaluateShape(arguments_, children[node.first + k], one)) {
            continue;
        }
        if (isAlike(shape, one)) {
            return;
        }
        possible += (possible.empty() ? "" : " or ") + textOf(one);
    }
    if (possible.empty()) {
        noShape(i, node);
        return;
    }
    fail(i, "is " + textOfOperand(i) + " and must have the shape " + possible + " (" + textOfOperands(node) + ")");
}

// The usual case without a list: the shape of a tensor, or of tensors that all have this shape.
bool Validation::isPlainly(const Node& node, const TensorView& tensor) const {
    if (node.function != Fn::sizes && node.function != Fn::broadcast) {
        return false;
    }
    bool hasTensor = false;
    for (int k = 0; k < node.count; ++k) {
        const Node& child = nodes[children[node.first + k]];
        if (child.op != Op::kParameter) {
            return false;
        }
        const Argument& other = argument(static_cast<int>(child.integer));
        hasTensor = hasTensor || other.isTensor;
        if (other.isNull || other.isArray || (other.isTensor && !isSameShape(other.tensor.shape, tensor.shape))) {
            return false;
        }
    }
    return hasTensor;
}

// An array follows an array member by member, or a list of sizes in one dimension; of another rule each member has the
// shape.
void Validation::arrayLike(int i, const Parameter& rule, const Node& node, const Argument& one) {
    std::vector<Sizes> expected;
    if (!membersOf(rule.shapeFirst, one.tensors.size(), expected)) {
        noShape(i, node);
        return;
    }
    // What counts the members is wrong then, which a constraint says.
    if (expected.size() != one.tensors.size()) {
        return;
    }
    for (size_t k = 0; k < one.tensors.size(); ++k) {
        if (!isAlike(one.tensors[k].sizes(), expected[k])) {
            fail(i, "has the shape " + textOf(one.tensors[k].sizes()) + " in member " + std::to_string(k) +
                        " and must have " + textOf(expected[k]));
            return;
        }
    }
}

// The shapes of the members of an array of so many.
bool Validation::membersOf(int32_t index, size_t count, std::vector<Sizes>& result) const {
    const Node& node = nodes[index];
    if (node.function == Fn::sizes && nodes[children[node.first]].op == Op::kParameter) {
        const Argument& other = argument(static_cast<int>(nodes[children[node.first]].integer));
        if (other.isArray) {
            for (const TensorView& tensor : other.tensors) {
                result.push_back(tensor.sizes());
            }
            return true;
        }
    }
    Sizes shape;
    if (node.function == Fn::split) {
        Sizes sizes;
        int64_t dim = 0;
        if (!evaluateShape(arguments_, children[node.first], shape) ||
            !evaluateShape(arguments_, children[node.first + 1], sizes) ||
            !evaluateInteger(arguments_, children[node.first + 2], dim)) {
            return false;
        }
        int64_t axis = 0;
        for (const int64_t size : sizes) {
            if (shape.empty() || !axisOf(dim, static_cast<int64_t>(shape.size()), axis)) {
                return false;
            }
            result.push_back(shape);
            result.back()[static_cast<size_t>(axis)] = size;
        }
        return true;
    }
    if (!evaluateShape(arguments_, index, shape)) {
        return false;
    }
    result.assign(count, shape);
    return true;
}

void Validation::noShape(int i, const Node& node) {
    const char* const reason = node.function == Fn::broadcast ? "they do not broadcast" : "they give none";
    fail(i, std::string("cannot have the shape of its operands: ") + reason + " (" + textOfOperands(node) + ")");
}

}  // namespace diopigen::contract
