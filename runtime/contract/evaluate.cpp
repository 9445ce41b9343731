#include <algorithm>
#include <cstring>
#include <utility>

#include "dtypes.h"
#include "evaluator.h"
#include "number.h"

namespace diopigen::contract {

bool Evaluator::parameter(int64_t position, Value& result) const {
    const Argument& argument = arguments_.values[static_cast<size_t>(position)];
    if (argument.isNull || argument.isRoom || !(argument.isTensor || argument.value)) {
        return false;
    }
    if (argument.isArray) {
        result = Value();
        result.type = Type::kTensors;
        result.tensors = {argument.tensors.data(), static_cast<int64_t>(argument.tensors.size()), &argument.members};
    } else if (argument.isTensor) {
        result = Value();
        result.type = Type::kTensor;
        result.tensor = &argument.tensor;
    } else {
        result = *argument.value;
    }
    return true;
}

bool Evaluator::value(int32_t index, Value& result) const {
    const Node& node = nodes[index];
    for (const auto& [fixed, entry] : fixed_) {
        if (fixed == index) {
            result = Value::of(entry);
            return true;
        }
    }
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
            return arguments_.isBound[position];
        }
        case Op::kNot: {
            if (!plain(child(node, 0), result)) {
                return false;
            }
            result.boolean = !result.boolean;
            for (Number& entry : result.list) {
                entry = Number::of(int64_t{entry.integer == 0});
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
    const auto spread = [](Value& one) {
        if (one.type == Type::kNumber) {
            one.list = {one.number};
        } else if (one.type == Type::kBool) {
            one.list = {Number::of(int64_t{one.boolean})};
        }
    };
    spread(left);
    spread(right);
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
    if (!isMany(left)) {
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
    const bool compares = isComparison(node.op);
    if (isMany(left) || isMany(right)) {
        if (!aligned(left, right)) {
            return false;
        }
        Value found;
        found.type = compares ? Type::kBools : Type::kList;
        for (size_t i = 0; i < left.list.size(); ++i) {
            Number entry;
            if (compares) {
                entry = Number::of(int64_t{isSatisfied(node.op, compare(left.list[i], right.list[i]))});
            } else if (!arithmetic(node.op, left.list[i], right.list[i], entry)) {
                return false;
            }
            found.list.push_back(entry);
        }
        result = std::move(found);
        return true;
    }
    const auto text = [](const Value& one) { return one.type == Type::kDtype ? dtypeName(one.dtype) : one.text; };
    const auto isWord = [](const Value& one) { return one.type == Type::kDtype || one.type == Type::kText; };
    if (isWord(left) && isWord(right)) {
        const bool isSame = std::strcmp(text(left), text(right)) == 0;
        result = Value::of(isSame == (node.op == Op::kEqual));
        return true;
    }
    const auto asNumber = [](const Value& one) {
        return one.type == Type::kBool ? Number::of(int64_t{one.boolean}) : one.number;
    };
    if (compares) {
        result = Value::of(isSatisfied(node.op, compare(asNumber(left), asNumber(right))));
        return true;
    }
    Number found;
    if (!arithmetic(node.op, asNumber(left), asNumber(right), found)) {
        return false;
    }
    result = Value::of(found);
    return true;
}

bool Evaluator::dtype(int32_t index, diopiDtype_t& result) const {
    if (nodes[index].op == Op::kParameter) {
        const Argument& argument = arguments_.values[static_cast<size_t>(nodes[index].integer)];
        if (argument.isTensor && !argument.isArray && !argument.isNull) {
            result = argument.tensor.dtype;
            return true;
        }
    }
    Value found;
    if (!value(index, found)) {
        return false;
    }
    switch (found.type) {
        case Type::kTensor:
            result = found.tensor->dtype;
            return true;
        case Type::kTensors:
            if (found.tensors.count == 0) {
                return false;
            }
            result = found.tensors.first[0].dtype;
            return true;
        case Type::kScalar:
        case Type::kDtype:
            result = found.dtype;
            return true;
        default:
            return false;
    }
}

bool Evaluator::entries(int32_t index, std::vector<Number>& result) const {
    Value found;
    if (!value(index, found)) {
        return false;
    }
    result.clear();
    if (found.type == Type::kTensor) {
        for (int64_t i = 0; i < found.tensor->shape.len; ++i) {
            result.push_back(Number::of(found.tensor->shape.data[i]));
        }
    } else if (isMany(found)) {
        result = std::move(found.list);
    } else if (found.type == Type::kBool) {
        result = {Number::of(int64_t{found.boolean})};
    } else {
        result = {found.number};
    }
    return true;
}

bool Evaluator::sizes(int32_t index, Sizes& result) const {
    std::vector<Number> found;
    if (!entries(index, found)) {
        return false;
    }
    result.clear();
    for (const Number& entry : found) {
        if (entry.isReal) {
            return false;
        }
        result.push_back(entry.integer);
    }
    return true;
}

bool evaluate(const Arguments& arguments, int32_t node, Value& result) {
    return Evaluator(arguments).value(node, result);
}

bool evaluateShape(const Arguments& arguments, int32_t node, Sizes& result) {
    return Evaluator(arguments).sizes(node, result);
}

bool evaluateInteger(const Arguments& arguments, int32_t node, int64_t& result) {
    return Evaluator(arguments).integer(node, result);
}

bool evaluateDtype(const Arguments& arguments, int32_t node, diopiDtype_t& result) {
    return Evaluator(arguments).dtype(node, result);
}

bool holds(const Arguments& arguments, int32_t predicate) {
    bool result = true;
    return !Evaluator(arguments).boolean(predicate, result) || result;
}

}  // namespace diopigen::contract
