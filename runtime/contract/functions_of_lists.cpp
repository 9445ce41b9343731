#include <algorithm>
#include <cmath>
#include <utility>

#include "evaluator.h"
#include "number.h"

namespace diopigen::contract {

bool Evaluator::ofLists(const Node& node, Value& result) const {
    std::vector<Number> list;
    if (node.function == Fn::list) {
        for (int i = 0; i < node.count; ++i) {
            Number entry;
            if (!number(child(node, i), entry)) {
                return false;
            }
            list.push_back(entry);
        }
        result = Value::of(std::move(list), Type::kList);
        return true;
    }
    Value first;
    if (!value(child(node, 0), first)) {
        return false;
    }
    if (node.function == Fn::len && first.type == Type::kTensors) {
        result = Value::of(first.tensors.count);
        return true;
    }
    const bool ofBools = node.function >= Fn::all && node.function <= Fn::count;
    if (ofBools) {
        if (!plain(child(node, 0), first)) {
            return false;
        }
        list = isMany(first) ? first.list : std::vector<Number>{Number::of(int64_t{first.boolean})};
    } else if (!entries(child(node, 0), list)) {
        return false;
    }
    const auto isTrue = [](const Number& entry) { return entry.asReal() != 0; };
    const auto less = [](const Number& a, const Number& b) { return compare(a, b) == -1; };
    const auto size = static_cast<int64_t>(list.size());
    int64_t count = 0;
    std::vector<Number> other;
    switch (node.function) {
        case Fn::all:
            result = Value::of(std::all_of(list.begin(), list.end(), isTrue));
            return true;
        case Fn::any:
            result = Value::of(std::any_of(list.begin(), list.end(), isTrue));
            return true;
        case Fn::count:
            result = Value::of(static_cast<int64_t>(std::count_if(list.begin(), list.end(), isTrue)));
            return true;
        case Fn::len:
            result = Value::of(size);
            return true;
        case Fn::nondecreasing:
            result = Value::of(std::is_sorted(list.begin(), list.end(), less));
            return true;
        case Fn::distinct:
        case Fn::is_permutation: {
            std::sort(list.begin(), list.end(), less);
            bool isGood = true;
            for (int64_t i = 0; i < size; ++i) {
                const Number& entry = list[static_cast<size_t>(i)];
                isGood = isGood && (node.function == Fn::distinct
                                        ? i == 0 || compare(entry, list[static_cast<size_t>(i) - 1]) != 0
                                        : compare(entry, Number::of(i)) == 0);
            }
            result = Value::of(isGood);
            return true;
        }
        case Fn::equal:
            if (!entries(child(node, 1), other)) {
                return false;
            }
            result = Value::of(list.size() == other.size() &&
                               std::equal(list.begin(), list.end(), other.begin(),
                                          [](const Number& a, const Number& b) { return compare(a, b) == 0; }));
            return true;
        case Fn::sum:
        case Fn::prod: {
            Number total = Number::of(int64_t{node.function == Fn::sum ? 0 : 1});
            for (const Number& entry : list) {
                const Number before = total;
                if (!(node.function == Fn::sum ? add(before, entry, total) : multiply(before, entry, total))) {
                    return false;
                }
            }
            result = Value::of(total);
            return true;
        }
        case Fn::item:
            if (!integer(child(node, 1), count) || count < -size || count >= size) {
                return false;
            }
            result = Value::of(list[static_cast<size_t>(count < 0 ? count + size : count)]);
            return true;
        case Fn::join:
            for (int i = 1; i < node.count; ++i) {
                if (!entries(child(node, i), other)) {
                    return false;
                }
                list.insert(list.end(), other.begin(), other.end());
            }
            break;
        default: {
            if (!integer(child(node, 1), count)) {
                return false;
            }
            if (node.function == Fn::tail) {
                if (count < 0 || count > size) {
                    return false;
                }
                count = size - count;
            }
            count = std::min(std::max<int64_t>(count, 0), size);
            if (node.function == Fn::head) {
                list.resize(static_cast<size_t>(count));
            } else {
                list.erase(list.begin(), list.begin() + count);
            }
        }
    }
    result = Value::of(std::move(list), Type::kList);
    return true;
}

bool Evaluator::ofNumbers(const Node& node, Value& result) const {
    Value first;
    if (!plain(child(node, 0), first)) {
        return false;
    }
    const Fn function = node.function;
    if (function == Fn::abs || function == Fn::is_whole || function == Fn::is_finite) {
        const bool many = isMany(first);
        Value found;
        found.type = function == Fn::abs ? Type::kList : Type::kBools;
        const std::vector<Number> list = many ? first.list : std::vector<Number>{first.number};
        for (const Number& entry : list) {
            const double real = entry.asReal();
            if (function == Fn::abs) {
                found.list.push_back(compare(entry, Number::of(int64_t{0})) == -1
                                         ? (entry.isReal ? Number::of(-real) : Number::of(-entry.integer))
                                         : entry);
            } else {
                const bool isGood = function == Fn::is_finite ? std::isfinite(real) : std::floor(real) == real;
                found.list.push_back(Number::of(int64_t{isGood && std::isfinite(real)}));
            }
        }
        if (many) {
            result = std::move(found);
        } else if (function == Fn::abs) {
            result = Value::of(found.list[0]);
        } else {
            result = Value::of(found.list[0].integer != 0);
        }
        return true;
    }
    if (function == Fn::min || function == Fn::max) {
        std::vector<Number> list;
        for (int i = 0; i < node.count; ++i) {
            Value next;
            if (!plain(child(node, i), next)) {
                return false;
            }
            if (isMany(next)) {
                list.insert(list.end(), next.list.begin(), next.list.end());
            } else {
                list.push_back(next.type == Type::kBool ? Number::of(int64_t{next.boolean}) : next.number);
            }
        }
        if (list.empty()) {
            return false;
        }
        const auto less = [](const Number& a, const Number& b) { return compare(a, b) == -1; };
        result = Value::of(function == Fn::min ? *std::min_element(list.begin(), list.end(), less)
                                               : *std::max_element(list.begin(), list.end(), less));
        return true;
    }
    Number one;
    Number other;
    if (!number(child(node, 0), one) || !number(child(node, 1), other)) {
        return false;
    }
    if (function == Fn::divides) {
        if (one.isReal || other.isReal) {
            return false;
        }
        result = Value::of(one.integer >= 1 && other.integer % one.integer == 0);
        return true;
    }
    Number quotient;
    Number rest;
    result = Value();
    result.type = Type::kNumber;
    if (one.isReal || other.isReal) {
        result.number = Number::of(std::ceil(one.asReal() / other.asReal()));
        return other.asReal() != 0;
    }
    return negate(Number(one), one) && divideDown(one, other, quotient, rest) && negate(quotient, result.number);
}

}  // namespace diopigen::contract
