// Numbers of a compiled graph that follow from the sizes of its inputs.
//
// A plan has a table of expressions over its symbols; a number of the plan is a literal, or names an expression:
// `{"expression": 3}`. Integers are those of Python: quotients are rounded down, remainders have the divisor's sign.
#ifndef DIOPIGEN_TORCH_EXPRESSIONS_H_
#define DIOPIGEN_TORCH_EXPRESSIONS_H_

#include <c10/core/Scalar.h>
#include <diopigen/json.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace diopigen::backend {

class Expressions {
  public:
    enum class Operation {
        kSymbol,
        kLiteral,
        kAdd,
        kMultiply,
        kFloorDivide,
        kRemainder,
        kDivide,
        kPower,
        kSquareRoot,
        kMinimum,
        kMaximum,
        kEqual,
        kNotEqual,
        kLess,
        kLessEqual,
        kBoth,
        kEither,
        kNegation,
        kSelect,
        kToReal,
        kFloor,
        kCeiling,
        kTruncate,
        kRound,
    };

    /// A table over so many symbols: a list for each expression, the operation and its operands, which come first in
    /// the table. Throws where it is not what this version reads.
    Expressions(const Json& table, size_t symbols);

    /// The value of each expression. Throws where one has none: a division by 0, an integer of more than 64 bits.
    std::vector<c10::Scalar> values(const std::vector<int64_t>& symbols) const;

  private:
    struct Expression {
        Operation operation;
        /// Of a symbol its number.
        std::vector<size_t> operands;
        c10::Scalar literal;
    };

    static c10::Scalar value(const Expression& expression, const std::vector<c10::Scalar>& values);

    std::vector<Expression> expressions_;
};

/// Numbers of a plan for one tuple of sizes.
class Numbers {
  public:
    /// Literals alone are known.
    Numbers() = default;
    explicit Numbers(std::vector<c10::Scalar> values) : values_(std::move(values)), are_known_(true) {}

    /// Returns whether expressions have values.
    bool are_known() const { return are_known_; }

    /// Returns whether a value, or a part of it, names an expression.
    static bool is_open(const Json& value);

    c10::Scalar scalar(const Json& value) const;
    bool boolean(const Json& value) const;
    /// Of booleans as well.
    int64_t integer(const Json& value) const;
    /// Of integers as well.
    double real(const Json& value) const;
    std::vector<int64_t> integers(const Json& value) const;

  private:
    const c10::Scalar* open(const Json& value) const;

    std::vector<c10::Scalar> values_;
    bool are_known_ = false;
};

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_EXPRESSIONS_H_
