#include <algorithm>
#include <utility>

#include "evaluator.h"

namespace diopigen::contract {

namespace {

bool are_whole(const Numbers& entries) {
    return std::none_of(entries.begin(), entries.end(), [](const Number& entry) { return entry.is_real; });
}

// A number, or a list of which each entry counts.
bool to_numbers(Value& value) {
    if (value.type == Type::kBool) {
        value = Value::of(number_of(value));
    }
    return value.type == Type::kNumber || is_many(value);
}

void to_list(Value& value) {
    if (!is_many(value)) {
        value = Value::of(entries_of(value));
    }
}

bool to_dtype(Value& value) {
    if (value.type == Type::kTensors && value.tensors.count > 0) {
        value = Value::of(value.tensors.first->dtype);
    } else if (value.type == Type::kTensor) {
        value = Value::of(value.tensor->dtype);
    } else if (value.type == Type::kScalar) {
        value = Value::of(value.dtype);
    }
    return value.type == Type::kDtype;
}

bool to_array(Value& value) {
    if (value.type == Type::kTensor) {
        value.type = Type::kTensors;
        value.tensors = {value.tensor, 1, nullptr};
    }
    return value.type == Type::kTensors;
}

}  // namespace

bool Evaluator::is_null(const Node& node) const {
    return node.op == Op::kParameter && frame_ == nullptr &&
           arguments_.values[static_cast<size_t>(node.integer)].is_null;
}

bool Evaluator::argument(int32_t index, Take take, Value& result) const {
    switch (take) {
        case Take::kNumber:
        case Take::kInteger:
            return plain(index, result) && to_numbers(result);
        case Take::kBoolean:
            if (!boolean(index, result.boolean)) {
                return false;
            }
            result.type = Type::kBool;
            return true;
        case Take::kBools:
        case Take::kElements:
            if (!plain(index, result)) {
                return false;
            }
            to_list(result);
            return true;
        case Take::kNumbers:
        case Take::kValue:
            return plain(index, result);
        case Take::kDtype:
            return value(index, result) && to_dtype(result);
        case Take::kTensor:
            return value(index, result) && result.type == Type::kTensor;
        case Take::kTensors:
            return value(index, result) && to_array(result);
        case Take::kIndices:
            return value(index, result) && result.type == Type::kTensors && result.tensors.members != nullptr;
        case Take::kItems:
            return value(index, result);
        default:
            break;
    }
    const bool may_be_null = take == Take::kOperand || take == Take::kExtent || take == Take::kDims;
    if (may_be_null && is_null(table_.nodes[index])) {
        result = Value::of(Numbers());
        return true;
    }
    if (!value(index, result)) {
        return false;
    }
    if (take != Take::kOperand && take != Take::kExtent) {
        to_list(result);
    }
    return take == Take::kList || are_whole(result.list);
}

bool Evaluator::call(const Node& node, Value& result) const {
    const FunctionFacts& facts = kFunctionFacts[static_cast<size_t>(node.function)];
    if (facts.body == nullptr && facts.formula < 0) {
        return special(node, result);
    }
    Values arguments(std::max<size_t>(node.count, facts.is_variadic ? 0 : facts.count));
    for (int i = 0; i < node.count; ++i) {
        const Take take = facts.takes[std::min<int>(i, facts.count - 1)];
        if (!argument(child(node, i), take, arguments[static_cast<size_t>(i)])) {
            return false;
        }
    }
    return by_entry(facts, arguments, result);
}

bool Evaluator::by_entry(const FunctionFacts& facts, const Values& arguments, Value& result) const {
    const auto is_spread = [&](size_t i) { return (facts.by_entry >> i & 1U) != 0 && is_many(arguments[i]); };
    bool is_each = false;
    size_t count = 1;
    for (size_t i = 0; i < arguments.size(); ++i) {
        if (is_spread(i)) {
            const size_t entries = arguments[i].list.size();
            count = entries == 0 || count == 0 ? 0 : std::max(count, entries);
            is_each = true;
        }
    }
    if (!is_each) {
        return apply(facts, arguments, result);
    }
    Value all = Value::of(Numbers());
    Values entries(arguments.size());
    for (size_t k = 0; k < count; ++k) {
        for (size_t i = 0; i < arguments.size(); ++i) {
            if (is_spread(i)) {
                const Numbers& list = arguments[i].list;
                if (list.size() != count && list.size() != 1) {
                    return false;
                }
                entries[i] = Value::of(list[list.size() == 1 ? 0 : k]);
            } else if (k == 0) {
                entries[i] = arguments[i];
            }
        }
        Value one;
        if (!apply(facts, entries, one)) {
            return false;
        }
        all.type = one.type == Type::kBool ? Type::kBools : Type::kList;
        all.list.push_back(number_of(one));
    }
    result = std::move(all);
    return true;
}

bool Evaluator::apply(const FunctionFacts& facts, const Values& arguments, Value& result) const {
    for (size_t i = 0; i < arguments.size() && !facts.is_variadic; ++i) {
        if (facts.takes[i] == Take::kInteger && (is_many(arguments[i]) || arguments[i].number.is_real)) {
            return false;
        }
    }
    return facts.formula < 0 ? facts.body(arguments, result)
                             : Evaluator(arguments_, arguments).value(facts.formula, result);
}

bool Evaluator::special(const Node& node, Value& result) const {
    bool condition = false;
    switch (node.function) {
        case Fn::is_null:
            result = Value::of(is_null(table_.nodes[child(node, 0)]));
            return true;
        case Fn::implies:
            if (!boolean(child(node, 0), condition)) {
                return false;
            }
            if (!condition) {
                result = Value::of(true);
                return true;
            }
            return plain(child(node, 1), result);
        case Fn::where:
            return boolean(child(node, 0), condition) && value(child(node, condition ? 1 : 2), result);
        case Fn::when:
            return boolean(child(node, 0), condition) && condition && value(child(node, 1), result);
        default:
            return false;
    }
}

}  // namespace diopigen::contract
