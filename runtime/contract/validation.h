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

    void dtypes(int i);        // lists
    void ruled_dtypes(int i);  // after those of all parameters: a rule is about what it refers to
    void ruled_dtype(int i, const Parameter& rule);
    void alternative_dtype(int i, const Parameter& rule, const Node& node);
    void scalar_dtype(int i, const Parameter& rule);

    void ranks(int i);
    void rank_of(int i, const TensorView& tensor);
    void shapes(int i);
    void listed(int i, const Parameter& rule, const TensorView& tensor);
    void bind_spread(int i, int16_t name, const Sizes& sizes);
    void spread(int i, int16_t name, const Sizes& sizes);
    bool bound(int16_t name, int64_t& size) const;
    void ruled(int i, const Parameter& rule, const Argument& one);
    void alternative_shape(int i, const Node& node, const Sizes& shape);
    bool is_plainly(const Node& node, const TensorView& tensor) const;
    void array_like(int i, const Parameter& rule, const Node& node, const Argument& one);
    bool members_of(int32_t index, size_t count, std::vector<Sizes>& result) const;
    void no_shape(int i, const Node& node);

    void devices();
    // Constraints that keys of parameters state (docs/spec.md, "Legal values"), and those of the operator.
    enum class Stated : uint8_t { kByKey, kByOperator };
    void constraints(Stated stated);
    void each_parameter(void (Validation::*check)(int));

    void fail(int i, const std::string& text, diopiError_t status = diopiErrorOccurred);
    std::string text_of_operand(int i) const;
    // Text of the parameters that an expression reads: "dim=5, input=float32[2, 3]".
    std::string text_of_operands(const Node& node) const;

    const Argument& argument(int i) const { return arguments_.values[static_cast<size_t>(i)]; }
    template <typename Check>
    void each_tensor(int i, const Check& check) const {
        const Argument& one = argument(i);
        if (!one.is_tensor || one.is_null) {
            return;
        }
        if (!one.is_array) {
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
