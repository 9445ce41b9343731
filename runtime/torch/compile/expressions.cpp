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

const Form& formOf(const std::string& name) {
    static const std::map<std::string, Form> forms = {{"symbol", {Operation::symbol, 1, 1}},
                                                      {"literal", {Operation::literal, 1, 1}},
                                                      {"add", {Operation::add, 1, kMany}},
                                                      {"multiply", {Operation::multiply, 1, kMany}},
                                                      {"floor_divide", {Operation::floor_divide, 2, 2}},
                                                      {"remainder", {Operation::remainder, 2, 2}},
                                                      {"divide", {Operation::divide, 2, 2}},
                                                      {"power", {Operation::power, 2, 2}},
                                                      {"square_root", {Operation::square_root, 1, 1}},
                                                      {"minimum", {Operation::minimum, 1, kMany}},
                                                      {"maximum", {Operation::maximum, 1, kMany}},
                                                      {"equal", {Operation::equal, 2, 2}},
                                                      {"not_equal", {Operation::not_equal, 2, 2}},
                                                      {"less", {Operation::less, 2, 2}},
                                                      {"less_equal", {Operation::less_equal, 2, 2}},
                                                      {"both", {Operation::both, 1, kMany}},
                                                      {"either", {Operation::either, 1, kMany}},
                                                      {"negation", {Operation::negation, 1, 1}},
                                                      {"select", {Operation::select, 3, 3}},
                                                      {"to_real", {Operation::to_real, 1, 1}},
                                                      {"floor", {Operation::floor, 1, 1}},
                                                      {"ceiling", {Operation::ceiling, 1, 1}},
                                                      {"truncate", {Operation::truncate, 1, 1}},
                                                      {"round", {Operation::round, 1, 1}}};
    const auto found = forms.find(name);
    TORCH_CHECK(found != forms.end(), "a compiled graph has the expression '", name, "', which plans do not know");
    return found->second;
}

c10::Scalar literalOf(const Json& value) {
    if (value.kind() == Json::Kind::boolean) {
        return {value.boolean()};
    }
    return value.isInteger() ? c10::Scalar(value.integer()) : c10::Scalar(value.real());
}

[[noreturn]] void tooLarge() { TORCH_CHECK(false, "a size of a compiled graph has more than 64 bits"); }

int64_t sum(int64_t a, int64_t b) {
    int64_t result = 0;
    if (__builtin_add_overflow(a, b, &result)) {
        tooLarge();
    }
    return result;
}

int64_t product(int64_t a, int64_t b) {
    int64_t result = 0;
    if (__builtin_mul_overflow(a, b, &result)) {
        tooLarge();
    }
    return result;
}

void requireDivisor(bool is_nonzero) { TORCH_CHECK(is_nonzero, "a size of a compiled graph is divided by 0"); }

int64_t floorDivide(int64_t a, int64_t b) {
    requireDivisor(b != 0);
    if (b == -1) {
        return product(a, -1);
    }
    const int64_t quotient = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int64_t remainderOf(int64_t a, int64_t b) {
    requireDivisor(b != 0);
    if (b == -1) {
        return 0;
    }
    const int64_t rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

int64_t powerOf(int64_t base, int64_t exponent) {
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

double realPower(double base, double exponent) {
    requireDivisor(base != 0 || exponent >= 0);
    TORCH_CHECK(base >= 0 || exponent == std::floor(exponent) || std::isinf(exponent),
                "a size of a compiled graph is a root of a negative number");
    return std::pow(base, exponent);
}

// A real number without a fraction as an integer.
int64_t integral(double value) {
    constexpr double kLimit = 9223372036854775808.0;
    if (!(value >= -kLimit && value < kLimit)) {
        tooLarge();
    }
    return static_cast<int64_t>(value);
}

bool isReal(const c10::Scalar& value) { return value.isFloatingPoint(); }

int64_t asInteger(const c10::Scalar& value) {
    return value.isBoolean() ? static_cast<int64_t>(value.toBool()) : value.toLong();
}

double asReal(const c10::Scalar& value) {
    return isReal(value) ? value.toDouble() : static_cast<double>(asInteger(value));
}

bool asBoolean(const c10::Scalar& value) { return isReal(value) ? value.toDouble() != 0 : asInteger(value) != 0; }

template <typename Integers, typename Reals>
c10::Scalar arithmetic(const c10::Scalar& a, const c10::Scalar& b, const Integers& integers, const Reals& reals) {
    if (isReal(a) || isReal(b)) {
        return {reals(asReal(a), asReal(b))};
    }
    return {integers(asInteger(a), asInteger(b))};
}

bool isLess(const c10::Scalar& a, const c10::Scalar& b) {
    return isReal(a) || isReal(b) ? asReal(a) < asReal(b) : asInteger(a) < asInteger(b);
}

bool isEqual(const c10::Scalar& a, const c10::Scalar& b) {
    return isReal(a) || isReal(b) ? asReal(a) == asReal(b) : asInteger(a) == asInteger(b);
}

c10::Scalar rounded(const c10::Scalar& value, double (*round)(double)) {
    return isReal(value) ? c10::Scalar(integral(round(value.toDouble()))) : c10::Scalar(asInteger(value));
}

}  // namespace

Expressions::Expressions(const Json& table, size_t symbols) {
    for (const Json& each : table.list()) {
        const std::vector<Json>& words = each.list();
        TORCH_CHECK(!words.empty(), "a compiled graph has an expression without an operation");
        const Form& form = formOf(words[0].text());
        const size_t count = words.size() - 1;
        TORCH_CHECK(count >= form.fewest && count <= form.most, "a compiled graph has the expression '",
                    words[0].text(), "' with ", count, " operands");
        Expression& own = expressions_.emplace_back();
        own.operation = form.operation;
        if (form.operation == Operation::literal) {
            own.literal = literalOf(words[1]);
            continue;
        }
        const size_t known = form.operation == Operation::symbol ? symbols : expressions_.size() - 1;
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
        values.push_back(expression.operation == Operation::symbol ? c10::Scalar(symbols[expression.operands[0]])
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
    const auto holds = [&](size_t operand) { return asBoolean(values[operand]); };
    const auto& operands = expression.operands;
    switch (expression.operation) {
        case Operation::symbol:
        case Operation::literal:
            return expression.literal;
        case Operation::add:
            return reduced([](const c10::Scalar& a, const c10::Scalar& b) {
                return arithmetic(a, b, sum, [](double x, double y) { return x + y; });
            });
        case Operation::multiply:
            return reduced([](const c10::Scalar& a, const c10::Scalar& b) {
                return arithmetic(a, b, product, [](double x, double y) { return x * y; });
            });
        case Operation::floor_divide:
            return {floorDivide(asInteger(at(0)), asInteger(at(1)))};
        case Operation::remainder:
            return {remainderOf(asInteger(at(0)), asInteger(at(1)))};
        case Operation::divide:
            requireDivisor(asReal(at(1)) != 0);
            return {asReal(at(0)) / asReal(at(1))};
        case Operation::power:
            if (isReal(at(0)) || isReal(at(1)) || asInteger(at(1)) < 0) {
                return {realPower(asReal(at(0)), asReal(at(1)))};
            }
            return {powerOf(asInteger(at(0)), asInteger(at(1)))};
        case Operation::square_root:
            TORCH_CHECK(asReal(at(0)) >= 0, "a size of a compiled graph is a root of a negative number");
            return {std::sqrt(asReal(at(0)))};
        case Operation::minimum:
            return reduced([](const c10::Scalar& a, const c10::Scalar& b) { return isLess(b, a) ? b : a; });
        case Operation::maximum:
            return reduced([](const c10::Scalar& a, const c10::Scalar& b) { return isLess(a, b) ? b : a; });
        case Operation::equal:
            return {isEqual(at(0), at(1))};
        case Operation::not_equal:
            return {!isEqual(at(0), at(1))};
        case Operation::less:
            return {isLess(at(0), at(1))};
        case Operation::less_equal:
            return {isLess(at(0), at(1)) || isEqual(at(0), at(1))};
        case Operation::both:
            return {std::all_of(operands.begin(), operands.end(), holds)};
        case Operation::either:
            return {std::any_of(operands.begin(), operands.end(), holds)};
        case Operation::negation:
            return {!asBoolean(at(0))};
        case Operation::select:
            return asBoolean(at(0)) ? at(1) : at(2);
        case Operation::to_real:
            return {asReal(at(0))};
        case Operation::floor:
            return rounded(at(0), std::floor);
        case Operation::ceiling:
            return rounded(at(0), std::ceil);
        case Operation::truncate:
            return rounded(at(0), std::trunc);
        case Operation::round:
            return rounded(at(0), std::nearbyint);
    }
    return expression.literal;
}

bool Numbers::isOpen(const Json& value) {
    if (value.isList()) {
        return std::any_of(value.list().begin(), value.list().end(), isOpen);
    }
    if (!value.isObject()) {
        return false;
    }
    return std::any_of(value.entries().begin(), value.entries().end(),
                       [](const auto& entry) { return entry.first == "expression" || isOpen(entry.second); });
}

const c10::Scalar* Numbers::open(const Json& value) const {
    if (!value.isObject()) {
        return nullptr;
    }
    const int64_t index = value.at("expression").integer();
    TORCH_CHECK(index >= 0 && index < static_cast<int64_t>(values_.size()), "a compiled graph has no expression ",
                index);
    return &values_[static_cast<size_t>(index)];
}

c10::Scalar Numbers::scalar(const Json& value) const {
    const c10::Scalar* const found = open(value);
    return found != nullptr ? *found : literalOf(value);
}

bool Numbers::boolean(const Json& value) const {
    const c10::Scalar* const found = open(value);
    return found != nullptr ? asBoolean(*found) : value.boolean();
}

int64_t Numbers::integer(const Json& value) const {
    const c10::Scalar* const found = open(value);
    if (found == nullptr) {
        return value.kind() == Json::Kind::boolean ? static_cast<int64_t>(value.boolean()) : value.integer();
    }
    TORCH_CHECK(!isReal(*found), "a compiled graph has a real number for an integer");
    return asInteger(*found);
}

double Numbers::real(const Json& value) const {
    const c10::Scalar* const found = open(value);
    return found != nullptr ? asReal(*found) : value.real();
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
