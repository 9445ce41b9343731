#include <algorithm>
#include <cstring>
#include <utility>

#include "dtypes.h"
#include "evaluator.h"
#include "number.h"

namespace diopigen::contract {

const char* word_of(const Value& value) { return value.type == Type::kDtype ? dtype_name(value.dtype) : value.text; }

Number number_of(const Value& value) {
    return value.type == Type::kBool ? Number::of(int64_t{value.boolean}) : value.number;
}

Numbers entries_of(const Value& value) {
    return value.type == Type::kTensor ? Value::of(value.tensor->sizes()).list
           : is_many(value)            ? value.list
                                       : Numbers{number_of(value)};
}

Sizes sizes_of(const Value& value) {
    if (value.type == Type::kTensor) {
        return value.tensor->sizes();
    }
    Sizes found;
    found.reserve(value.list.size());
    for (const Number& entry : value.list) {
        found.push_back(entry.integer);
    }
    return found;
}

bool Evaluator::parameter(int64_t position, Value& result) const {
    if (frame_ != nullptr) {
        result = (*frame_)[static_cast<size_t>(position)];
        return true;
    }
    const Argument& argument = arguments_.values[static_cast<size_t>(position)];
    if (argument.is_null || argument.is_room || !(argument.is_tensor || argument.value)) {
        return false;
    }
    if (argument.is_array) {
        result = Value();
        result.type = Type::kTensors;
        result.tensors = {argument.tensors.data(), static_cast<int64_t>(argument.tensors.size()), &argument.members};
    } else if (argument.is_tensor) {
        result = Value();
        result.type = Type::kTensor;
        result.tensor = &argument.tensor;
    } else {
        result = *argument.value;
    }
    return true;
}

bool Evaluator::value(int32_t index, Value& result) const {
    const Node& node = table_.nodes[index];
    switch (node.op) {
        case Op::kInteger:
            result = Value::of(node.integer);
            return true;
        case Op::kReal:
            result = Value::of(node.real);
            return true;
        case Op::kText:
            result = Value();
            result.type = Type::kText;
            result.text = node.text;
            return true;
        case Op::kTrue:
        case Op::kFalse:
            result = Value::of(node.op == Op::kTrue);
            return true;
        case Op::kParameter:
            return parameter(node.integer, result);
        case Op::kDimension: {
            const auto position = static_cast<size_t>(node.integer);
            result = Value::of(arguments_.dimensions[position]);
            return arguments_.is_bound[position];
        }
        case Op::kNot: {
            if (!plain(child(node, 0), result)) {
                return false;
            }
            result.boolean = !result.boolean;
            for (Number& entry : result.list) {
                entry = Number::of(int64_t{entry.as_real() == 0});
            }
            return true;
        }
        case Op::kNegate: {
            if (!plain(child(node, 0), result)) {
                return false;
            }
            for (Number& entry : result.list) {
                if (!negate(Number(entry), entry)) {
                    return false;
                }
            }
            return negate(Number(result.number), result.number);
        }
        case Op::kAnd:
        case Op::kOr:
            return logical(node, result);
        case Op::kCall:
            return call(node, result);
        default:
            return binary(node, result);
    }
}

namespace {

// The entries of both sides as lists of one length; a number belongs to every entry.
bool aligned(Value& left, Value& right) {
    for (Value* one : {&left, &right}) {
        if (!is_many(*one)) {
            one->list = entries_of(*one);
        }
    }
    const size_t count = left.list.empty() || right.list.empty() ? 0 : std::max(left.list.size(), right.list.size());
    for (Value* one : {&left, &right}) {
        if (one->list.size() == 1) {
            one->list.assign(count, one->list[0]);
        }
        if (one->list.size() != count) {
            return false;
        }
    }
    return true;
}

}  // namespace

bool Evaluator::logical(const Node& node, Value& result) const {
    Value left;
    if (!plain(child(node, 0), left)) {
        return false;
    }
    if (!is_many(left)) {
        if (left.boolean == (node.op == Op::kOr)) {
            result = left;
            return true;
        }
        return plain(child(node, 1), result);
    }
    Value right;
    if (!plain(child(node, 1), right) || !aligned(left, right)) {
        return false;
    }
    result = Value();
    result.type = Type::kBools;
    for (size_t i = 0; i < left.list.size(); ++i) {
        const bool one = left.list[i].integer != 0;
        const bool other = right.list[i].integer != 0;
        result.list.push_back(Number::of(int64_t{node.op == Op::kAnd ? one && other : one || other}));
    }
    return true;
}

bool Evaluator::binary(const Node& node, Value& result) const {
    Value left;
    Value right;
    if (!plain(child(node, 0), left) || !plain(child(node, 1), right)) {
        return false;
    }
    const bool compares = is_comparison(node.op);
    if (is_many(left) || is_many(right)) {
        if (!aligned(left, right)) {
            return false;
        }
        Value found;
        found.type = compares ? Type::kBools : Type::kList;
        found.list.reserve(left.list.size());
        for (size_t i = 0; i < left.list.size(); ++i) {
            Number entry;
            if (compares) {
                entry = Number::of(int64_t{is_satisfied(node.op, compare(left.list[i], right.list[i]))});
            } else if (!arithmetic(node.op, left.list[i], right.list[i], entry)) {
                return false;
            }
            found.list.push_back(entry);
        }
        result = std::move(found);
        return true;
    }
    if (is_word(left) && is_word(right)) {
        const bool is_same = std::strcmp(word_of(left), word_of(right)) == 0;
        result = Value::of(is_same == (node.op == Op::kEqual));
        return true;
    }
    if (compares) {
        result = Value::of(is_satisfied(node.op, compare(number_of(left), number_of(right))));
        return true;
    }
    Number found;
    if (!arithmetic(node.op, number_of(left), number_of(right), found)) {
        return false;
    }
    result = Value::of(found);
    return true;
}

bool Evaluator::plain(int32_t index, Value& result) const {
    if (!value(index, result)) {
        return false;
    }
    if (result.type == Type::kScalar) {
        result.type = Type::kNumber;
    } else if (result.type == Type::kTensor) {
        const TensorView* const tensor = result.tensor;
        result = Value::of(Numbers());
        return arguments_.elements && arguments_.elements(*tensor, result.list);
    }
    return true;
}

bool Evaluator::boolean(int32_t index, bool& result) const {
    Value found;
    if (!plain(index, found)) {
        return false;
    }
    result = number_of(found).as_real() != 0;
    return found.type == Type::kBool || found.type == Type::kNumber;
}

bool evaluate(const Arguments& arguments, int32_t node, Value& result) {
    return Evaluator(arguments).value(node, result);
}

bool evaluate_shape(const Arguments& arguments, int32_t node, Sizes& result) {
    Value found;
    const bool is_known = Evaluator(arguments).argument(node, Take::kShape, found);
    result = is_known ? sizes_of(found) : Sizes();
    return is_known;
}

bool evaluate_integer(const Arguments& arguments, int32_t node, int64_t& result) {
    Value found;
    const bool is_known = Evaluator(arguments).argument(node, Take::kInteger, found);
    result = found.number.integer;
    return is_known && found.type == Type::kNumber && !found.number.is_real;
}

bool evaluate_dtype(const Arguments& arguments, int32_t node, diopiDtype_t& result) {
    Value found;
    const bool is_known = Evaluator(arguments).argument(node, Take::kDtype, found);
    result = found.dtype;
    return is_known;
}

bool holds(const Arguments& arguments, int32_t predicate) {
    bool result = true;
    return !Evaluator(arguments).boolean(predicate, result) || result;
}

}  // namespace diopigen::contract
