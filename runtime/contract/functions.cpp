#include <algorithm>
#include <cstring>
#include <utility>

#include "evaluator.h"
#include "number.h"

namespace diopigen::contract {

namespace {

// The positions of numbers, as bits, of the functions that have one result for each entry where a list is given.
unsigned numbersOf(Fn function) {
    switch (function) {
        case Fn::size:
        case Fn::axis:
        case Fn::item:
        case Fn::can_hold:
            return 2;
        case Fn::ceil_div:
        case Fn::divides:
            return 3;
        default:
            return 0;
    }
}

}  // namespace

bool Evaluator::byEntry(const Node& node, unsigned positions, Value& result, bool& isDone) const {
    std::vector<std::pair<int32_t, std::vector<Number>>> lists;
    size_t count = 1;
    for (int i = 0; i < node.count; ++i) {
        Value found;
        if ((positions >> i & 1U) == 0) {
            continue;
        }
        if (!plain(child(node, i), found)) {
            return false;
        }
        if (isMany(found)) {
            count = found.list.empty() || count == 0 ? 0 : std::max(count, found.list.size());
            lists.emplace_back(child(node, i), std::move(found.list));
        }
    }
    isDone = !lists.empty();
    if (!isDone) {
        return true;
    }
    Value all;
    all.type = Type::kList;
    for (size_t k = 0; k < count; ++k) {
        const auto before = fixed_;
        for (const auto& [index, list] : lists) {
            if (list.size() != count && list.size() != 1) {
                return false;
            }
            fixed_.emplace_back(index, list[list.size() == 1 ? 0 : k]);
        }
        Value one;
        const bool isKnown = call(node, one);
        fixed_ = before;
        if (!isKnown) {
            return false;
        }
        const bool isBool = one.type == Type::kBool;
        all.type = isBool ? Type::kBools : Type::kList;
        all.list.push_back(isBool ? Number::of(int64_t{one.boolean}) : one.number);
    }
    result = std::move(all);
    return true;
}

bool Evaluator::call(const Node& node, Value& result) const {
    if (node.function == Fn::unknown) {
        return false;
    }
    if (const unsigned positions = numbersOf(node.function)) {
        bool isDone = false;
        if (!byEntry(node, positions, result, isDone)) {
            return false;
        }
        if (isDone) {
            return true;
        }
    }
    if (node.function <= Fn::is_null) {
        return special(node, result);
    }
    if (node.function <= Fn::elements) {
        return ofTensors(node, result);
    }
    if (node.function <= Fn::count) {
        return ofLists(node, result);
    }
    if (node.function <= Fn::is_finite) {
        return ofNumbers(node, result);
    }
    if (node.function <= Fn::to_complex) {
        return ofDtypes(node, result);
    }
    Sizes found;
    if (!ofShapes(node, found)) {
        return false;
    }
    result = Value::of(found);
    return true;
}

namespace {

bool isSame(const Value& one, const Value& other) {
    if (one.type == Type::kText && other.type == Type::kText) {
        return std::strcmp(one.text, other.text) == 0;
    }
    return compare(one.number, other.number) == 0;
}

}  // namespace

bool Evaluator::special(const Node& node, Value& result) const {
    bool condition = false;
    switch (node.function) {
        case Fn::is_null: {
            const Node& operand = nodes[child(node, 0)];
            result = Value::of(arguments_.values[static_cast<size_t>(operand.integer)].isNull);
            return true;
        }
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
        default:
            break;
    }
    Value first;
    if (!plain(child(node, 0), first)) {
        return false;
    }
    std::vector<Value> others(node.count - 1U);
    for (int i = 1; i < node.count; ++i) {
        if (!plain(child(node, i), others[static_cast<size_t>(i) - 1])) {
            return false;
        }
    }
    const auto isAmong = [&](const Value& one) {
        return std::any_of(others.begin(), others.end(), [&](const Value& other) { return isSame(one, other); });
    };
    if (!isMany(first)) {
        result = Value::of(isAmong(first));
        return true;
    }
    result = Value();
    result.type = Type::kBools;
    for (const Number& entry : first.list) {
        Value one;
        one.type = Type::kNumber;
        one.number = entry;
        result.list.push_back(Number::of(int64_t{isAmong(one)}));
    }
    return true;
}

}  // namespace diopigen::contract
