// The checks of one call against the contract of its operator. validation.cpp has their order, and those that concern
// single arguments; validation_dtypes.cpp and validation_shapes.cpp have the others.
#ifndef DIOPIGEN_CONTRACT_VALIDATION_H_
#define DIOPIGEN_CONTRACT_VALIDATION_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "call_tensors.h"
#include "evaluate.h"
#include "failure.h"
#include "operand.h"
#include "table.h"

namespace diopigen::contract {

// For one call of `run`. Positions of parameters are `i`.
class Validation {
  public:
    // The operands and their tensors must outlive this.
    Validation(const Contract& contract, Operands operands, const CallTensors& tensors);
    Validation(const Validation&) = delete;
    Validation& operator=(const Validation&) = delete;
    ~Validation();

    // The first check that fails. Constraints on elements of tensors are checked where `elements` reads them.
    std::optional<Failure> run(const Elements& elements);

  private:
    void presence(int i);
    void values(int i);  // of enums and texts

    void dtypes(int i);       // lists
    void ruledDtypes(int i);  // after those of all parameters: a rule is about what it refers to
    void ruledDtype(int i, const Parameter& rule);
    void alternativeDtype(int i, const Parameter& rule, const Node& node);
    void scalarDtype(int i, const Parameter& rule);

    void ranks(int i);
    void rankOf(int i, const TensorView& tensor);
    void shapes(int i);
    void listed(int i, const Parameter& rule, const TensorView& tensor);
    void bindSpread(int i, int16_t name, const Sizes& sizes);
    void spread(int i, int16_t name, const Sizes& sizes);
    bool bound(int16_t name, int64_t& size) const;
    void ruled(int i, const Parameter& rule, const Argument& one);
    void alternativeShape(int i, const Node& node, const Sizes& shape);
    bool isPlainly(const Node& node, const TensorView& tensor) const;
    void arrayLike(int i, const Parameter& rule, const Node& node, const Argument& one);
    bool membersOf(int32_t index, size_t count, std::vector<Sizes>& result) const;
    void noShape(int i, const Node& node);

    void devices();
    // Constraints that keys of parameters state (docs/spec.md, "Legal values"), and those of the operator.
    enum class Stated : uint8_t { byKey, byOperator };
    void constraints(Stated stated);
    void eachParameter(void (Validation::*check)(int));

    void fail(int i, const std::string& text, diopiError_t status = diopiErrorOccurred);
    std::string textOfOperand(int i) const;
    // Text of the parameters that an expression reads: "dim=5, input=float32[2, 3]".
    std::string textOfOperands(const Node& node) const;

    const Argument& argument(int i) const { return arguments_.values[static_cast<size_t>(i)]; }
    template <typename Check>
    void eachTensor(int i, const Check& check) const {
        const Argument& one = argument(i);
        if (!one.isTensor || one.isNull) {
            return;
        }
        if (!one.isArray) {
            check(one.tensor);
            return;
        }
        for (const TensorView& tensor : one.tensors) {
            check(tensor);
        }
    }

    const Contract& contract_;
    const Parameter* rules_;
    Operands operands_;
    const CallTensors& tensors_;
    Arguments arguments_;
    std::map<int16_t, Sizes> spreads_;  // what variadic entries stand for, by their name
    std::optional<Failure> found_;
};

}  // namespace diopigen::contract

#endif  // DIOPIGEN_CONTRACT_VALIDATION_H_
