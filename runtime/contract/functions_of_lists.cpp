#include <algorithm>
#include <cmath>
#include <cstring>

#include "functions.h"
#include "number.h"

namespace diopigen::contract::functions {

namespace {

int64_t length_of(const Numbers& entries) { return static_cast<int64_t>(entries.size()); }

bool is_true(const Number& entry) { return entry.as_real() != 0; }

// NaN is behind all numbers, so that any list can be sorted.
bool is_before(const Number& a, const Number& b) {
    const int order = compare(a, b);
    return order == -1 || (order == 2 && !std::isnan(a.as_real()));
}

bool is_same(const Value& one, const Value& other) {
    if (is_word(one) || is_word(other)) {
        return is_word(one) && is_word(other) && std::strcmp(word_of(one), word_of(other)) == 0;
    }
    return compare(number_of(one), number_of(other)) == 0;
}

Numbers sliced(const Numbers& entries, int64_t first, int64_t last) {
    const auto at = [&](int64_t index) { return entries.begin() + std::clamp<int64_t>(index, 0, length_of(entries)); };
    return Numbers(at(first), std::max(at(first), at(last)));
}

// The first of the smallest entries.
template <typename IsBetter>
std::optional<Number> best(const Values& values, const IsBetter& is_better) {
    std::optional<Number> found;
    for (const Value& value : values) {
        for (const Number& entry : entries_of(value)) {
            found = !found || is_better(compare(entry, *found)) ? entry : found;
        }
    }
    return found;
}

}  // namespace

std::optional<Numbers> list(const Values& entries) {
    Numbers found;
    for (const Value& entry : entries) {
        found.push_back(entry.number);
    }
    return found;
}

std::optional<Numbers> elements(const Numbers& entries) { return entries; }

std::optional<int64_t> len(const Value& items) {
    return items.type == Value::Type::kTensors ? items.tensors.count : length_of(items.list);
}

std::optional<Number> item(const Numbers& entries, int64_t index) {
    index += index < 0 ? length_of(entries) : 0;
    return index < 0 || index >= length_of(entries) ? std::nullopt : std::optional(entries[static_cast<size_t>(index)]);
}

std::optional<Numbers> pick(const Numbers& entries, const Sizes& indices) {
    Numbers found;
    for (const int64_t index : indices) {
        const std::optional<Number> entry = item(entries, index);
        if (!entry) {
            return std::nullopt;
        }
        found.push_back(*entry);
    }
    return found;
}

std::optional<Sizes> positions(const Numbers& entries) {
    Sizes found;
    for (int64_t i = 0; i < length_of(entries); ++i) {
        found.push_back(i);
    }
    return found;
}

std::optional<Number> sum(const Numbers& entries) {
    Number total = Number::of(int64_t{0});
    for (const Number& entry : entries) {
        add(Number(total), entry, total);
    }
    return total;
}

std::optional<Number> prod(const Numbers& entries) {
    Number total = Number::of(int64_t{1});
    for (const Number& entry : entries) {
        multiply(Number(total), entry, total);
    }
    return total;
}

std::optional<Numbers> head(const Numbers& entries, int64_t count) { return sliced(entries, 0, count); }
std::optional<Numbers> drop(const Numbers& entries, int64_t count) {
    return sliced(entries, count, length_of(entries));
}

std::optional<Numbers> join(const Values& lists) {
    Numbers found;
    for (const Value& one : lists) {
        found.insert(found.end(), one.list.begin(), one.list.end());
    }
    return found;
}

std::optional<bool> equal(const Numbers& one, const Numbers& other) {
    return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                      [](const Number& a, const Number& b) { return compare(a, b) == 0; });
}

std::optional<bool> nondecreasing(const Numbers& entries) {
    return std::adjacent_find(entries.begin(), entries.end(), [](const Number& a, const Number& b) {
               return !is_satisfied(Op::kLessEqual, compare(a, b));
           }) == entries.end();
}

std::optional<bool> distinct(const Numbers& entries) {
    Numbers sorted = entries;
    std::sort(sorted.begin(), sorted.end(), is_before);
    return std::adjacent_find(sorted.begin(), sorted.end(),
                              [](const Number& a, const Number& b) { return compare(a, b) == 0; }) == sorted.end();
}

std::optional<bool> is_permutation(const Numbers& entries) {
    Numbers sorted = entries;
    std::sort(sorted.begin(), sorted.end(), is_before);
    for (size_t i = 0; i < sorted.size(); ++i) {
        if (compare(sorted[i], Number::of(static_cast<int64_t>(i))) != 0) {
            return false;
        }
    }
    return true;
}

std::optional<Value> one_of(const Values& values) {
    const auto is_among = [&](const Value& one) {
        return std::any_of(values.begin() + 1, values.end(), [&](const Value& other) { return is_same(one, other); });
    };
    if (!is_many(values[0])) {
        return Value::of(is_among(values[0]));
    }
    Numbers found;
    for (const Number& entry : values[0].list) {
        found.push_back(Number::of(int64_t{is_among(Value::of(entry))}));
    }
    return Value::of(std::move(found), Value::Type::kBools);
}

std::optional<bool> all(const Numbers& entries) { return std::all_of(entries.begin(), entries.end(), is_true); }
std::optional<bool> any(const Numbers& entries) { return std::any_of(entries.begin(), entries.end(), is_true); }
std::optional<int64_t> count(const Numbers& entries) { return std::count_if(entries.begin(), entries.end(), is_true); }

std::optional<Number> min(const Values& values) {
    return best(values, [](int order) { return order == -1; });
}

std::optional<Number> max(const Values& values) {
    return best(values, [](int order) { return order == 1; });
}

std::optional<Number> abs(const Number& number) {
    Number found = number;
    if (number.is_real) {
        found.real = std::fabs(number.real);
    } else if (number.integer < 0) {
        negate(number, found);
    }
    return found;
}

// Exact for integers; the quotient of reals is rounded to a double first, as kernels compute it.
std::optional<Number> ceil_div(const Number& number, const Number& divisor) {
    Number quotient;
    Number rest;
    if (number.is_real || divisor.is_real) {
        const double up = std::ceil(number.as_real() / divisor.as_real());
        quotient = std::fabs(up) < 0x1p63 ? Number::of(static_cast<int64_t>(up)) : Number::of(up);
        return divisor.as_real() != 0 ? std::optional(quotient) : std::nullopt;
    }
    Number opposite;
    negate(number, opposite);
    if (!divide_down(opposite, divisor, quotient, rest)) {
        return std::nullopt;
    }
    negate(Number(quotient), quotient);
    return quotient;
}

}  // namespace diopigen::contract::functions
