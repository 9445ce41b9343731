#include "checked_call.h"

#include <array>
#include <vector>

#include "memory.h"
#include "signature.h"
#include "table.h"
#include "validation.h"

namespace diopigen::contract {

// Legal calls of one operator: models call an operator with a few shapes in turn.
class Legal {
  public:
    // Moves on to the signature that the call would have, unless it has the one of the call before.
    bool contains(Operands operands, const CallTensors& tensors) {
        if (signatures_[last_].is_of(operands, tensors)) {
            return true;
        }
        last_ = hash_of(operands, tensors) >> 61;
        return signatures_[last_].is_of(operands, tensors);
    }
    // A call that was not contained just now.
    void add(Operands operands, const CallTensors& tensors) { signatures_[last_].keep(operands, tensors); }

  private:
    std::array<Signature, 8> signatures_;  // by the first bits of the hash
    size_t last_ = 0;
};

struct CheckedCall::Cache {
    std::vector<Legal> legal{static_cast<size_t>(kIdCount)};
    CallTensors tensors;
};

CheckedCall::Cache& CheckedCall::cache() {
    static thread_local Cache cache_of_thread;
    return cache_of_thread;
}

CheckedCall::CheckedCall(Id id, Operands operands) : id_(id), operands_(operands), cache_(cache()) {
    tensors_.swap(cache_.tensors);  // its memory
    read(operands, tensors_);
}

CheckedCall::~CheckedCall() { tensors_.swap(cache_.tensors); }

const Parameter* CheckedCall::rules() const { return &kParameters[kContracts[id_].parameters_first]; }

std::optional<Failure> CheckedCall::violation() const {
    Legal& legal = cache_.legal[static_cast<size_t>(id_)];
    if (!legal.contains(operands_, tensors_)) {
        std::optional<Failure> found = Validation(kContracts[id_], operands_, tensors_).run(Elements());
        if (found) {
            return found;
        }
        legal.add(operands_, tensors_);
    }
    return overlap(rules(), operands_, tensors_);
}

std::optional<Failure> CheckedCall::violation(const Elements& elements) const {
    std::optional<Failure> found = Validation(kContracts[id_], operands_, tensors_).run(elements);
    return found ? found : overlap(rules(), operands_, tensors_);
}

}  // namespace diopigen::contract
