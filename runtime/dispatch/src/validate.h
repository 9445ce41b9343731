// Validation of calls against the contracts of the spec, before a library sees them.
#ifndef DIOPIGEN_DISPATCH_VALIDATE_H_
#define DIOPIGEN_DISPATCH_VALIDATE_H_

#include <optional>

#include "entry.h"
#include "error_text.h"
#include "operands.h"

namespace diopigen::dispatch {

// The first check that a call violates, with the status and the text for its caller; none for a legal call. Elements of
// tensors are read only where `reads_elements`.
std::optional<Failure> violation(const Entry& entry, diopiContextHandle_t ctx, Operands operands, bool reads_elements);

}  // namespace diopigen::dispatch

#endif  // DIOPIGEN_DISPATCH_VALIDATE_H_
