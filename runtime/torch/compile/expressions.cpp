#include <c10/util/Exception.h>
#include <diopigen_torch/expressions.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace diopigen::backend {

namespace {

using Operation = Expressions::Operation;

struct Form {
    Operation operation;
    size_t fewest;
    size_t most;
};

constexpr size_t kMany = 1 << 20;

const Form& form_of(const std::string& name) {
    static const std::map<std::string, Form> forms = {{"symbol", {Operation::kSymbol, 1, 1}},
                                                      {"literal", {Operation::kLiteral, 1, 1}},
                                                      {"add", {Operation::kAdd, 1, kMany}},
                                                      {"multiply", {Operation::kMultiply, 1, kMany}},
                                                      {"floor_divide", {Operation::kFloorDivide, 2, 2}},
                                                      {"remainder", {Operation::kRemainder, 2, 2}},
                                                      {"divide", {Operation::kDivide, 2, 2}},
                                                      {"power", {Operation::kPower, 2, 2}},
                                                      {"square_root", {Operation::kSquareRoot, 1, 1}},
                                                      {"minimum", {Operation::kMinimum, 1, kMany}},
                                                      {"maximum", {Operation::kMaximum, 1, kMany}},
                                                      {"equal", {Operation::kEqual, 2, 2}},
                                                      {"not_equal", {Operation::kNotEqual, 2, 2}},
                                                      {"less", {Operation::kLess, 2, 2}},
                                                      {"less_equal", {Operation::kLessEqual, 2, 2}},
                                                      {"both", {Operation::kBoth, 1, kMany}},
                                                      {"either", {Operation::kEither, 1, kMany}},
                                                      {"negation", {Operation::kNegation, 1, 1}},
                                                      {"select", {Operation::kSelect, 3, 3}},
                                                      {"to_real", {Operation::kToReal, 1, 1}},
                                                      {"floor", {Operation::kFloor, 1, 1}},
                                                      {"ceiling", {Operation::kCeiling, 1, 1}},
                                                      {"truncate", {Operation::kTruncate, 1, 1}},
                                                      {"round", {Operation::kRound, 1, 1}}};
    const auto found = forms.find(name);
    TORCH_CHECK(found != forms.end(), "a compiled graph has the expression '", name, "', which plans do not know");
    return found->second;
}

c10::Scalar literal_of(const Json& value) {
    if (value.kind() == Json::Kind::kBoolean) {
        return {value.boolean()};
    }
    return value.is_integer() ? c10::Scalar(value.integer()) : c10::Scalar(value.real());
}

[[noreturn]] void too_large() { TORCH_CHECK(false, "a size of a compiled graph has more than 64 bits"); }

int64_t sum(int64_t a, int64_t b) {
    int64_t result = 0;
    if (__builtin_add_overflow(a, b, &result)) {
        too_large();
    }
    return result;
}

int64_t product(int64_t a, int64_t b) {
    int64_t result = 0;
    if (__builtin_mul_overflow(a, b, &result)) {
        too_large();
    }
    return result;
}

void require_divisor(bool is_nonzero) { TORCH_CHECK(is_nonzero, "a size of a compiled graph is divided by 0"); }

int64_t floor_divide(int64_t a, int64_t b) {
    require_divisor(b != 0);
    if (b == -1) {
        return product(a, -1);
    }
    const int64_t quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int64_t remainder_of(int64_t a, int64_t b) {
    require_divisor(b != 0);
    if (b == -1) {
        return 0;
    }
    const int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

int64_t power_of(int64_t base, int64_t exponent) {
    int64_t result = 1;
    for (int64_t square = base; exponent > 0; exponent /= 2) {
        if (exponent % 2 != 0) {
            result = product(result, square);
        }
        if (exponent > 1) {
            square = product(square, square);
        }
    }
    return result;
}

double real_power(double base, double exponent) {
    require_divisor(base != 0 || exponent >= 0);
    TORCH_CHECK(base >= 0 || exponent == std::floor(exponent) || std::isinf(exponent),
                "a size of a compiled graph is a root of a negative number");
    return std::pow(base, exponent);
}

// A real number without a fraction as an integer.
int64_t integral(double value) {
    constexpr double kLimit = 9223372036854775808.0;
    if (!(value >= -kLimit && value < kLimit)) {
        too_large();
    }
    return static_cast<int64_t>(value);
}

bool is_real(const c10::Scalar& value) { return value.isFloatingPoint(); }

int64_t as_integer(const c10::Scalar& value) {
    return value.isBoolean() ? static_cast<int64_t>(value.toBool()) : value.toLong();
}

double as_real(const c10::Scalar& value) {
    return is_real(value) ? value.toDouble() : static_cast<double>(as_integer(value));
}

bool as_boolean(const c10::Scalar& value) { return is_real(value) ? value.toDouble() != 0 : as_integer(value) != 0; }

template <typename Integers, typename Reals>
c10::Scalar arithmetic(const c10::Scalar& a, const c10::Scalar& b, const Integers& integers, const Reals& reals) {
    if (is_real(a) || is_real(b)) {
        return {reals(as_real(a), as_real(b))};
    }
    return {integers(as_integer(a), as_integer(b))};
}

bool is_less(const c10::Scalar& a, const c10::Scalar& b) {
    return is_real(a) || is_real(b) ? as_real(a) < as_real(b) : as_integer(a) < as_integer(b);
}

bool is_equal(const c10::Scalar& a, const c10::Scalar& b) {
    return is_real(a) || is_real(b) ? as_real(a) == as_real(b) : as_integer(a) == as_integer(b);
}

c10::Scalar rounded(const c10::Scalar& value, double (*round)(double)) {
    return is_real(value) ? c10::Scalar(integral(round(value.toDouble()))) : c10::Scalar(as_integer(value));
}

}  // namespace

Expressions::Expressions(const Json& table, size_t symbols) {
    for (const Json& each : table.list()) {
        const std::vector<Json>& words = each.list();
        TORCH_CHECK(!words.empty(), "a compiled graph has an expression without an operation");
        const Form& form = form_of(words[0].text());
        const size_t count = words.size() - 1;
        TORCH_CHECK(count >= form.fewest && count <= form.most, "a compiled graph has the expression '",
                    words[0].text(), "' with ", count, " operands");
        Expression& own = expressions_.emplace_back();
        own.operation = form.operation;
        if (form.operation == Operation::kLiteral) {
            own.literal = literal_of(words[1]);
            continue;
        }
        const size_t known = form.operation == Operation::kSymbol ? symbols : expressions_.size() - 1;
        for (size_t i = 1; i < words.size(); ++i) {
            const int64_t operand = words[i].integer();
            TORCH_CHECK(operand >= 0 && operand < static_cast<int64_t>(known), "a compiled graph has the expression '",
                        words[0].text(), "' of ", operand, ", which does not come before it");
            own.operands.push_back(static_cast<size_t>(operand));
        }
    }
}

std::vector<c10::Scalar> Expressions::values(const std::vector<int64_t>& symbols) const {
    std::vector<c10::Scalar> values;
    values.reserve(expressions_.size());
    for (const Expression& expression : expressions_) {
        values.push_back(expression.operation == Operation::kSymbol ? c10::Scalar(symbols[expression.operands[0]])
                                                                    : value(expression, values));
    }
    return values;
}

c10::Scalar Expressions::value(const Expression& expression, const std::vector<c10::Scalar>& values) {
    const auto at = [&](size_t k) -> const c10::Scalar& { return values[expression.operands[k]]; };
    const auto reduced = [&](const auto& next) {
        c10::Scalar result = at(0);
        for (size_t k = 1; k < expression.operands.size(); ++k) {
            result = next(result, at(k));
        }
        return result;
    };
    const auto holds = [&](size_t operand) { return as_boolean(values[operand]); };
    const auto& operands = expression.operands;
    switch (expression.operation) {
        case Operation::kSymbol:
        case Operation::kLiteral:
            return expression.literal;
        case Operation::kAdd:
            return reduced([](const c10::Scalar& a, const c10::Scalar& b) {
                return arithmetic(a, b, sum, [](double x, double y) { return x + y; });
            });
        case Operation::kMultiply:
            return reduced([](const c10::Scalar& a, const c10::Scalar& b) {
                return arithmetic(a, b, product, [](double x, double y) { return x * y; });
            });
        case Operation::kFloorDivide:
            return {floor_divide(as_integer(at(0)), as_integer(at(1)))};
        case Operation::kRemainder:
            return {remainder_of(as_integer(at(0)), as_integer(at(1)))};
        case Operation::kDivide:
            require_divisor(as_real(at(1)) != 0);
            return {as_real(at(0)) / as_real(at(1))};
        case Operation::kPower:
            if (is_real(at(0)) || is_real(at(1)) || as_integer(at(1)) < 0) {
                return {real_power(as_real(at(0)), as_real(at(1)))};
            }
            return {power_of(as_integer(at(0)), as_integer(at(1)))};
        case Operation::kSquareRoot:
            TORCH_CHECK(as_real(at(0)) >= 0, "a size of a compiled graph is a root of a negative number");
            return {std::sqrt(as_real(at(0)))};
        case Operation::kMinimum:
            return reduced([](const c10::Scalar& a, const c10::Scalar& b) { return is_less(b, a) ? b : a; });
        case Operation::kMaximum:
            return reduced([](const c10::Scalar& a, const c10::Scalar& b) { return is_less(a, b) ? b : a; });
        case Operation::kEqual:
            return {is_equal(at(0), at(1))};
        case Operation::kNotEqual:
            return {!is_equal(at(0), at(1))};
        case Operation::kLess:
            return {is_less(at(0), at(1))};
        case Operation::kLessEqual:
            return {is_less(at(0), at(1)) || is_equal(at(0), at(1))};
        case Operation::kBoth:
            return {std::all_of(operands.begin(), operands.end(), holds)};
        case Operation::kEither:
            return {std::any_of(operands.begin(), operands.end(), holds)};
        case Operation::kNegation:
            return {!as_boolean(at(0))};
        case Operation::kSelect:
            return as_boolean(at(0)) ? at(1) : at(2);
        case Operation::kToReal:
            return {as_real(at(0))};
        case Operation::kFloor:
            return rounded(at(0), std::floor);
        case Operation::kCeiling:
            return rounded(at(0), std::ceil);
        case Operation::kTruncate:
            return rounded(at(0), std::trunc);
        case Operation::kRound:
            return rounded(at(0), std::nearbyint);
    }
    return expression.literal;
}

bool Numbers::is_open(const Json& value) {
    if (value.is_list()) {
        return std::any_of(value.list().begin(), value.list().end(), is_open);
    }
    if (!value.is_object()) {
        return false;
    }
    return std::any_of(value.entries().begin(), value.entries().end(),
                       [](const auto& entry) { return entry.first == "expression" || is_open(entry.second); });
}

const c10::Scalar* Numbers::open(const Json& value) const {
    if (!value.is_object()) {
        return nullptr;
    }
    const int64_t index = value.at("expression").integer();
    TORCH_CHECK(index >= 0 && index < static_cast<int64_t>(values_.size()), "a compiled graph has no expression ",
                index);
    return &values_[static_cast<size_t>(index)];
}

c10::Scalar Numbers::scalar(const Json& value) const {
    const c10::Scalar* const found = open(value);
    return found != nullptr ? *found : literal_of(value);
}

bool Numbers::boolean(const Json& value) const {
    const c10::Scalar* const found = open(value);
    return found != nullptr ? as_boolean(*found) : value.boolean();
}

int64_t Numbers::integer(const Json& value) const {
    const c10::Scalar* const found = open(value);
    if (found == nullptr) {
        return value.kind() == Json::Kind::kBoolean ? static_cast<int64_t>(value.boolean()) : value.integer();
    }
    TORCH_CHECK(!is_real(*found), "a compiled graph has a real number for an integer");
    return as_integer(*found);
}

double Numbers::real(const Json& value) const {
    const c10::Scalar* const found = open(value);
    return found != nullptr ? as_real(*found) : value.real();
}

std::vector<int64_t> Numbers::integers(const Json& value) const {
    std::vector<int64_t> found;
    found.reserve(value.list().size());
    for (const Json& each : value.list()) {
        found.push_back(integer(each));
    }
    return found;
}

}  // namespace diopigen::backend
