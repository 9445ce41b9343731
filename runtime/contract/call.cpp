#include <algorithm>
#include <utility>

#include "evaluator.h"

namespace diopigen::contract {

namespace {

bool areWhole(const Numbers& entries) {
    return std::none_of(entries.begin(), entries.end(), [](const Number& entry) { return entry.isReal; });
}

// A number, or a list of which each entry counts.
bool toNumbers(Value& value) {
    if (value.type == Type::kBool) {
        value = Value::of(numberOf(value));
    }
    return value.type == Type::kNumber || isMany(value);
}

void toList(Value& value) {
    if (!isMany(value)) {
        value = Value::of(entriesOf(value));
    }
}

bool toDtype(Value& value) {
    if (value.type == Type::kTensors && value.tensors.count > 0) {
        value = Value::of(value.tensors.first->dtype);
    } else if (value.type == Type::kTensor) {
        value = Value::of(value.tensor->dtype);
    } else if (value.type == Type::kScalar) {
        value = Value::of(value.dtype);
    }
    return value.type == Type::kDtype;
}

bool toArray(Value& value) {
    if (value.type == Type::kTensor) {
        value.type = Type::kTensors;
        value.tensors = {value.tensor, 1, nullptr};
    }
    return value.type == Type::kTensors;
}

}  // namespace

bool Evaluator::isNull(const Node& node) const {
    return node.op == Op::kParameter && frame_ == nullptr &&
           arguments_.values[static_cast<size_t>(node.integer)].isNull;
}

bool Evaluator::argument(int32_t index, Take take, Value& result) const {
    switch (take) {
        case Take::number:
        case Take::integer:
            return plain(index, result) && toNumbers(result);
        case Take::boolean:
            if (!boolean(index, result.boolean)) {
                return false;
            }
            result.type = Type::kBool;
            return true;
        case Take::bools:
        case Take::elements:
            if (!plain(index, result)) {
                return false;
            }
            toList(result);
            return true;
        case Take::numbers:
        case Take::value:
            return plain(index, result);
        case Take::dtype:
            return value(index, result) && toDtype(result);
        case Take::tensor:
            return value(index, result) && result.type == Type::kTensor;
        case Take::tensors:
            return value(index, result) && toArray(result);
        case Take::indices:
            return value(index, result) && result.type == Type::kTensors && result.tensors.members != nullptr;
        case Take::items:
            return value(index, result);
        default:
            break;
    }
    const bool mayBeNull = take == Take::operand || take == Take::extent || take == Take::dims;
    if (mayBeNull && isNull(table_.nodes[index])) {
        result = Value::of(Numbers());
        return true;
    }
    if (!value(index, result)) {
        return false;
    }
    if (take != Take::operand && take != Take::extent) {
        toList(result);
    }
    return take == Take::list || areWhole(result.list);
}

bool Evaluator::call(const Node& node, Value& result) const {
    const FunctionFacts& facts = functionFacts[static_cast<size_t>(node.function)];
    if (facts.body == nullptr && facts.formula < 0) {
        return special(node, result);
    }
    Values arguments(std::max<size_t>(node.count, facts.isVariadic ? 0 : facts.count));
    for (int i = 0; i < node.count; ++i) {
        const Take take = facts.takes[std::min<int>(i, facts.count - 1)];
        if (!argument(child(node, i), take, arguments[static_cast<size_t>(i)])) {
            return false;
        }
    }
    return byEntry(facts, arguments, result);
}

bool Evaluator::byEntry(const FunctionFacts& facts, const Values& arguments, Value& result) const {
    const auto isSpread = [&](size_t i) { return (facts.byEntry >> i & 1U) != 0 && isMany(arguments[i]); };
    bool isEach = false;
    size_t count = 1;
    for (size_t i = 0; i < arguments.size(); ++i) {
        if (isSpread(i)) {
            const size_t entries = arguments[i].list.size();
            count = entries == 0 || count == 0 ? 0 : std::max(count, entries);
            isEach = true;
        }
    }
    if (!isEach) {
        return apply(facts, arguments, result);
    }
    Value all = Value::of(Numbers());
    Values entries(arguments.size());
    for (size_t k = 0; k < count; ++k) {
        for (size_t i = 0; i < arguments.size(); ++i) {
            if (isSpread(i)) {
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
        all.list.push_back(numberOf(one));
    }
    result = std::move(all);
    return true;
}

bool Evaluator::apply(const FunctionFacts& facts, const Values& arguments, Value& result) const {
    for (size_t i = 0; i < arguments.size() && !facts.isVariadic; ++i) {
        if (facts.takes[i] == Take::integer && (isMany(arguments[i]) || arguments[i].number.isReal)) {
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
            result = Value::of(isNull(table_.nodes[child(node, 0)]));
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
