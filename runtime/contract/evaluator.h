// The evaluator of expressions: evaluate.cpp has values and operators, a file for each group the functions of table.h.
#ifndef DIOPIGEN_CONTRACT_EVALUATOR_H_
#define DIOPIGEN_CONTRACT_EVALUATOR_H_

#include <utility>
#include <vector>

#include "evaluate.h"
#include "table.h"
#include "value.h"

namespace diopigen::contract {

using Type = Value::Type;

inline bool isMany(const Value& value) { return value.type == Type::kList || value.type == Type::kBools; }

// Each member returns false where the expression has no value.
class Evaluator {
  public:
    explicit Evaluator(const Arguments& arguments) : arguments_(arguments) {}

    bool value(int32_t index, Value& result) const;

    // A value to compute with: a scalar without its dtype, a tensor by its elements.
    bool plain(int32_t index, Value& result) const {
        if (!value(index, result)) {
            return false;
        }
        if (result.type == Type::kScalar) {
            result.type = Type::kNumber;
        } else if (result.type == Type::kTensor) {
            const TensorView* const tensor = result.tensor;
            result = Value();
            result.type = Type::kList;
            return arguments_.elements && arguments_.elements(*tensor, result.list);
        }
        return true;
    }
    bool number(int32_t index, Number& result) const {
        Value found;
        if (!plain(index, found)) {
            return false;
        }
        if (found.type == Type::kBool) {
            result = Number::of(int64_t{found.boolean});
            return true;
        }
        result = found.number;
        return found.type == Type::kNumber;
    }
    bool integer(int32_t index, int64_t& result) const {
        Number found;
        if (!number(index, found) || found.isReal) {
            return false;
        }
        result = found.integer;
        return true;
    }
    bool boolean(int32_t index, bool& result) const {
        Value found;
        if (!plain(index, found)) {
            return false;
        }
        result = found.type == Type::kNumber ? found.number.asReal() != 0 : found.boolean;
        return found.type == Type::kBool || found.type == Type::kNumber;
    }
    bool dtype(int32_t index, diopiDtype_t& result) const;
    // The entries of a list; where a shape is wanted a tensor stands for its own.
    bool entries(int32_t index, std::vector<Number>& result) const;
    bool sizes(int32_t index, Sizes& result) const;
    bool tensor(int32_t index, TensorView& result) const {
        Value found;
        if (!value(index, found) || found.type != Type::kTensor) {
            return false;
        }
        result = *found.tensor;
        return true;
    }
    bool tensors(int32_t index, TensorArray& result) const {
        Value found;
        if (!value(index, found)) {
            return false;
        }
        result = found.type == Type::kTensor ? TensorArray{found.tensor, 1, nullptr} : found.tensors;
        return found.type == Type::kTensor || found.type == Type::kTensors;
    }

  private:
    bool parameter(int64_t position, Value& result) const;
    bool binary(const Node& node, Value& result) const;
    bool logical(const Node& node, Value& result) const;
    bool call(const Node& node, Value& result) const;
    bool special(const Node& node, Value& result) const;
    bool ofTensors(const Node& node, Value& result) const;
    bool ofArrays(const Node& node, Value& result) const;
    bool ofIndices(const Node& node, Value& result) const;
    bool ofLists(const Node& node, Value& result) const;
    bool ofNumbers(const Node& node, Value& result) const;
    bool ofDtypes(const Node& node, Value& result) const;
    bool ofShapes(const Node& node, Sizes& result) const;
    bool promoted(const Node& node, diopiDtype_t& result) const;
    bool broadcastOf(const Node& node, Sizes& result) const;

    static int32_t child(const Node& node, int position) { return children[node.first + position]; }

    bool byEntry(const Node& node, unsigned positions, Value& result, bool& isDone) const;

    const Arguments& arguments_;
    // Arguments that stand for one entry of their list, while a function is evaluated entry by entry.
    mutable std::vector<std::pair<int32_t, Number>> fixed_;
};

}  // namespace diopigen::contract

#endif  // DIOPIGEN_CONTRACT_EVALUATOR_H_
