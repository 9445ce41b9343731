// One call of an operator, checked against the contract that the spec states for it.
#ifndef DIOPIGEN_CONTRACT_CHECKED_CALL_H_
#define DIOPIGEN_CONTRACT_CHECKED_CALL_H_

#include <optional>

#include "call_tensors.h"
#include "contracts.h"
#include "evaluate.h"
#include "failure.h"
#include "operand.h"
#include "table.h"

namespace diopigen::contract {

class CheckedCall {
  public:
    // Asks each tensor once for what the checks and the kernel have to know. Throws a Failure where the
    // host runtime refuses. The operands must outlive this.
    CheckedCall(Id id, Operands operands);
    CheckedCall(const CheckedCall&) = delete;
    CheckedCall& operator=(const CheckedCall&) = delete;
    ~CheckedCall();

    // The first check that the call violates, with the status and the text for its caller; none for a legal call.
    std::optional<Failure> violation() const;
    // The same with the constraints that depend on elements of tensors, which `elements` reads.
    std::optional<Failure> violation(const Elements& elements) const;

    // In the order of the operands; those of an array one after the other.
    const CallTensors& tensors() const { return tensors_; }

  private:
    // What a thread keeps from call to call.
    struct Cache;
    static Cache& cache();

    const Parameter* rules() const;

    Id id_;
    Operands operands_;
    Cache& cache_;
    CallTensors tensors_;
};

}  // namespace diopigen::contract

#endif  // DIOPIGEN_CONTRACT_CHECKED_CALL_H_
