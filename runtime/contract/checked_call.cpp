#include "checked_call.h"

#include <array>
#include <vector>

#include "memory.h"
#include "signature.h"
#include "table.h"
#include "validation.h"

namespace diopigen::contract {

namespace {

// Legal calls of one operator: models call an operator with a few shapes in turn.
class Legal {
  public:
    bool contains(Operands operands, const CallTensors& tensors, uint64_t hash) const {
        return signatures_[slot(hash)].isOf(operands, tensors, hash);
    }
    void add(Operands operands, const CallTensors& tensors, uint64_t hash) {
        signatures_[slot(hash)].keep(operands, tensors, hash);
    }

  private:
    static constexpr size_t kSlots = 8;
    static size_t slot(uint64_t hash) { return hash >> 61; }
    static_assert(kSlots == 8);

    std::array<Signature, kSlots> signatures_;
};

// What a thread keeps from call to call.
struct Kept {
    std::vector<Legal> legal{static_cast<size_t>(kIdCount)};
    CallTensors tensors;
};

Kept& kept() {
    static thread_local Kept keptByThread;
    return keptByThread;
}

}  // namespace

CheckedCall::CheckedCall(Id id, Operands operands) : id_(id), operands_(operands) {
    tensors_.swap(kept().tensors);  // its memory
    read(operands, tensors_);
}

CheckedCall::~CheckedCall() { tensors_.swap(kept().tensors); }

std::optional<Failure> CheckedCall::violation() const {
    Legal& legal = kept().legal[static_cast<size_t>(id_)];
    const uint64_t hash = hashOf(operands_, tensors_);
    if (!legal.contains(operands_, tensors_, hash)) {
        std::optional<Failure> found = Validation(contracts[id_], operands_, tensors_).run(Elements());
        if (found) {
            return found;
        }
        legal.add(operands_, tensors_, hash);
    }
    return overlap(tensors_);
}

std::optional<Failure> CheckedCall::violation(const Elements& elements) const {
    std::optional<Failure> found = Validation(contracts[id_], operands_, tensors_).run(elements);
    return found ? found : overlap(tensors_);
}

}  // namespace diopigen::contract
