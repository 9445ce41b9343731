// Calls that were legal: those of a model repeat themselves.
#ifndef DIOPIGEN_CONTRACT_SIGNATURE_H_
#define DIOPIGEN_CONTRACT_SIGNATURE_H_

#include <cstdint>
#include <vector>

#include "call_tensors.h"
#include "operand.h"

namespace diopigen::contract {

// All that the checks but those of memory and elements depend on, as numbers: dtypes, devices and shapes of tensors,
// and the values of everything else. A call without operands has none.
uint64_t hash_of(Operands operands, const CallTensors& tensors);

class Signature {
  public:
    // Whether the call has this signature; compared while it is read, so that nothing is allocated.
    bool is_of(Operands operands, const CallTensors& tensors) const;
    // Takes that of the call.
    void keep(Operands operands, const CallTensors& tensors);

  private:
    std::vector<int64_t> numbers_;
};

}  // namespace diopigen::contract

#endif  // DIOPIGEN_CONTRACT_SIGNATURE_H_
