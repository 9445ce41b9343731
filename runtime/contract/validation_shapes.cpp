#include <algorithm>

#include "shapes.h"
#include "tensor.h"
#include "text.h"
#include "validation.h"

namespace diopigen::contract {

namespace {

bool is_same_shape(const diopiSize_t& a, const diopiSize_t& b) {
    return a.len == b.len && std::equal(a.data, a.data + a.len, b.data);
}

bool is_alike(const Sizes& shape, const Sizes& expected) {
    const auto is_one = [](const Sizes& sizes) { return sizes.empty() || sizes == Sizes{1}; };
    return shape == expected || (is_one(shape) && is_one(expected));
}

// What the variadic entry at `position` of `count` stands for in a tensor that fits the list.
Sizes spread_of(const TensorView& tensor, int position, int count) {
    const int64_t last = tensor.shape.len - (count - position - 1);
    return last <= position ? Sizes() : Sizes(tensor.shape.data + position, tensor.shape.data + last);
}

// Whether the library decides on the shape of something that is read.
bool has_free_shape(const Parameter* rules, Operands operands) {
    return std::any_of(rules, rules + operands.count,
                       [](const Parameter& rule) { return rule.is_read && (rule.free & kFreeShape) != 0; });
}

Sizes without_ones(Sizes sizes) {
    sizes.erase(std::remove(sizes.begin(), sizes.end(), 1), sizes.end());
    return sizes;
}

}  // namespace

// Ranks of tensors with a list of dimensions; what fits binds the names in it. Members of arrays bind none.
void Validation::ranks(int i) {
    if (rules_[i].shape == ShapeForm::kList) {
        each_tensor(i, [&](const TensorView& tensor) { rank_of(i, tensor); });
    }
}

void Validation::rank_of(int i, const TensorView& tensor) {
    const Parameter& rule = rules_[i];
    const Dimension* const entries = &kDimensions[rule.shape_first];
    int variadic = -1;
    for (int k = 0; k < rule.shape_count; ++k) {
        variadic = entries[k].kind == Entry::kVariadic ? k : variadic;
    }
    const int64_t rank = tensor.shape.len;
    const int64_t fixed = rule.shape_count - (variadic >= 0 ? 1 : 0);
    // [] and [1] stand for each other, but for a list with a variadic entry, whose named dimensions must be there.
    const bool is_one = variadic < 0 && fixed <= 1 && (rank == 0 || (rank == 1 && tensor.shape.data[0] == 1));
    if (variadic >= 0 ? rank < fixed : rank != fixed) {
        if ((rule.free & kFreeShape) == 0 && !is_one) {
            fail(i, "is " + text_of_operand(i) + " and must have " + (variadic >= 0 ? "at least " : "") +
                        std::to_string(fixed) + " dimensions");
        }
        if ((rule.free & kFreeShape) != 0 || rank > 0 || !is_one) {
            return;
        }
    }
    if (!rule.is_read || argument(i).is_array) {
        return;
    }
    for (int k = 0; k < rule.shape_count; ++k) {
        if (entries[k].name < 0) {
            continue;
        }
        if (k == variadic) {
            bind_spread(i, entries[k].name, spread_of(tensor, k, rule.shape_count));
            continue;
        }
        const int64_t at = variadic >= 0 && k > variadic ? rank - rule.shape_count + k : k;
        const auto name = static_cast<size_t>(entries[k].name);
        if (!arguments_.is_bound[name]) {
            arguments_.is_bound[name] = true;
            arguments_.dimensions[name] = rank == 0 ? 1 : tensor.shape.data[at];
        }
    }
}

// Tensors that are read broadcast in the dimensions of one variadic entry.
void Validation::bind_spread(int i, int16_t name, const Sizes& sizes) {
    const auto known = spreads_.find(name);
    if (known == spreads_.end()) {
        spreads_[name] = sizes;
        return;
    }
    if (!broadcast(known->second, sizes, known->second)) {
        fail(i, "is " + text_of_operand(i) + ", and " + text_of(sizes) + " does not broadcast with " +
                    text_of(known->second) + " of other tensors");
    }
}

void Validation::spread(int i, int16_t name, const Sizes& sizes) {
    const auto known = spreads_.find(name);
    // Where the shape of an operand is free, so is how many dimensions of the result are the variadic ones.
    if (has_free_shape(rules_, operands_)) {
        return;
    }
    if (known != spreads_.end() && !is_alike(sizes, known->second)) {
        fail(i, "is " + text_of_operand(i) + " and must have " + text_of(known->second) + " where it has " +
                    text_of(sizes));
    }
}

void Validation::shapes(int i) {
    const Parameter& rule = rules_[i];
    const Argument& one = argument(i);
    if (!one.is_tensor || one.is_null) {
        return;
    }
    if ((rule.free & kFreeShape) != 0) {
        // Whatever a library makes of its shape, its operands have to broadcast.
        Sizes ignored;
        const Node& node = kNodes[rule.shape_first];
        if (rule.shape == ShapeForm::kRule && node.function == Fn::broadcast &&
            !evaluate_shape(arguments_, rule.shape_first, ignored)) {
            no_shape(i, node);
        }
        return;
    }
    if (rule.shape == ShapeForm::kList) {
        each_tensor(i, [&](const TensorView& tensor) { listed(i, rule, tensor); });
    } else if (rule.shape == ShapeForm::kRule || rule.shape == ShapeForm::kBroadcastable) {
        ruled(i, rule, one);
    }
}

void Validation::listed(int i, const Parameter& rule, const TensorView& tensor) {
    const Dimension* const entries = &kDimensions[rule.shape_first];
    const int64_t rank = tensor.shape.len;
    bool is_variadic = false;
    for (int k = 0; k < rule.shape_count; ++k) {
        if (entries[k].kind == Entry::kVariadic) {
            is_variadic = true;
            if (operands_.first[i].is_written() && entries[k].name >= 0) {
                spread(i, entries[k].name, spread_of(tensor, k, rule.shape_count));
            }
            continue;
        }
        const int64_t at = is_variadic ? rank - rule.shape_count + k : k;
        const int64_t size = rank == 0 ? 1 : tensor.shape.data[at];  // [] and [1] stand for each other
        int64_t expected = 0;
        if (entries[k].kind == Entry::kUnknown) {
            continue;
        }
        const bool is_known = entries[k].name >= 0 ? bound(entries[k].name, expected)
                                                   : evaluate_integer(arguments_, entries[k].formula, expected);
        if (!is_known && has_free_shape(rules_, operands_)) {
            continue;  // it may be of another rank, and then binds no names
        }
        if (!is_known) {
            fail(i, "is " + text_of_operand(i) + ", and what dimension " + std::to_string(at) +
                        " must be does not follow from the other arguments");
            return;
        }
        if (size != expected) {
            fail(i, "is " + text_of_operand(i) + " and must have " + std::to_string(expected) + " in dimension " +
                        std::to_string(at));
            return;
        }
    }
}

bool Validation::bound(int16_t name, int64_t& size) const {
    size = arguments_.dimensions[static_cast<size_t>(name)];
    return arguments_.is_bound[static_cast<size_t>(name)];
}

void Validation::ruled(int i, const Parameter& rule, const Argument& one) {
    const Node& node = kNodes[rule.shape_first];
    if (one.is_array) {
        array_like(i, rule, node, one);
        return;
    }
    if (is_plainly(node, one.tensor)) {
        return;
    }
    if (node.function == Fn::one_of) {
        alternative_shape(i, node, one.tensor.sizes());
        return;
    }
    Sizes expected;
    if (!evaluate_shape(arguments_, rule.shape_first, expected)) {
        no_shape(i, node);
        return;
    }
    const Sizes shape = one.tensor.sizes();
    if (rule.shape == ShapeForm::kBroadcastable) {
        Sizes joined;
        if (!broadcast(shape, expected, joined) || !is_alike(joined, expected)) {
            fail(i, "is " + text_of_operand(i) + ", which does not broadcast to " + text_of(expected));
        }
        return;
    }
    if (is_alike(shape, expected)) {
        return;
    }
    // Without a flag for it, reduced dimensions may stay with size 1.
    const bool may_keep_ones = node.function == Fn::reduce && node.count == 2;
    if (may_keep_ones && without_ones(shape) == without_ones(expected)) {
        return;
    }
    fail(i, "is " + text_of_operand(i) + " and must have the shape " + text_of(expected) + " (" +
                text_of_operands(node) + ")");
}

// Any of the shapes that the rule allows.
void Validation::alternative_shape(int i, const Node& node, const Sizes& shape) {
    std::string possible;
    for (int k = 0; k < node.count; ++k) {
        Sizes one;
        if (!evaluate_shape(arguments_, kChildren[node.first + k], one)) {
            continue;
        }
        if (is_alike(shape, one)) {
            return;
        }
        possible += (possible.empty() ? "" : " or ") + text_of(one);
    }
    if (possible.empty()) {
        no_shape(i, node);
        return;
    }
    fail(i, "is " + text_of_operand(i) + " and must have the shape " + possible + " (" + text_of_operands(node) + ")");
}

// The usual case without a list: the shape of a tensor, or of tensors that all have this shape.
bool Validation::is_plainly(const Node& node, const TensorView& tensor) const {
    if (node.function != Fn::sizes && node.function != Fn::broadcast) {
        return false;
    }
    bool has_tensor = false;
    for (int k = 0; k < node.count; ++k) {
        const Node& child = kNodes[kChildren[node.first + k]];
        if (child.op != Op::kParameter) {
            return false;
        }
        const Argument& other = argument(static_cast<int>(child.integer));
        has_tensor = has_tensor || other.is_tensor;
        if (other.is_null || other.is_array || (other.is_tensor && !is_same_shape(other.tensor.shape, tensor.shape))) {
            return false;
        }
    }
    return has_tensor;
}

// An array follows an array member by member, or a list of sizes in one dimension; of another rule each member has the
// shape.
void Validation::array_like(int i, const Parameter& rule, const Node& node, const Argument& one) {
    std::vector<Sizes> expected;
    if (!members_of(rule.shape_first, one.tensors.size(), expected)) {
        no_shape(i, node);
        return;
    }
    // What counts the members is wrong then, which a constraint says.
    if (expected.size() != one.tensors.size()) {
        return;
    }
    for (size_t k = 0; k < one.tensors.size(); ++k) {
        if (!is_alike(one.tensors[k].sizes(), expected[k])) {
            fail(i, "has the shape " + text_of(one.tensors[k].sizes()) + " in member " + std::to_string(k) +
                        " and must have " + text_of(expected[k]));
            return;
        }
    }
}

// The shapes of the members of an array of so many.
bool Validation::members_of(int32_t index, size_t count, std::vector<Sizes>& result) const {
    const Node& node = kNodes[index];
    if (node.function == Fn::sizes && kNodes[kChildren[node.first]].op == Op::kParameter) {
        const Argument& other = argument(static_cast<int>(kNodes[kChildren[node.first]].integer));
        if (other.is_array) {
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
        if (!evaluate_shape(arguments_, kChildren[node.first], shape) ||
            !evaluate_shape(arguments_, kChildren[node.first + 1], sizes) ||
            !evaluate_integer(arguments_, kChildren[node.first + 2], dim)) {
            return false;
        }
        int64_t axis = 0;
        for (const int64_t size : sizes) {
            if (shape.empty() || !axis_of(dim, static_cast<int64_t>(shape.size()), axis)) {
                return false;
            }
            result.push_back(shape);
            result.back()[static_cast<size_t>(axis)] = size;
        }
        return true;
    }
    if (!evaluate_shape(arguments_, index, shape)) {
        return false;
    }
    result.assign(count, shape);
    return true;
}

void Validation::no_shape(int i, const Node& node) {
    const char* const reason = node.function == Fn::broadcast ? "they do not broadcast" : "they give none";
    fail(i, std::string("cannot have the shape of its operands: ") + reason + " (" + text_of_operands(node) + ")");
}

}  // namespace diopigen::contract
