// Handlers of calls that a kernel does not finish (diopigen_torch/kernel.h), besides fall_back().
#ifndef DIOPIGEN_TORCH_HANDLERS_H_
#define DIOPIGEN_TORCH_HANDLERS_H_

#include <ATen/core/dispatch/Dispatcher.h>
#include <diopigen_torch/call.h>

namespace diopigen::backend {

/// The call as PyTorch boxes it, handled by whatever switch asks for it.
void watch(const c10::OperatorHandle& op, torch::jit::Stack* stack);
/// The call with plain tensors: those that are not are replaced by copies, and copied back where they are written.
void call_plain(const c10::OperatorHandle& op, torch::jit::Stack* stack);
/// Raises for a call that the function rejected: what the CPU raises where Python has a class for it (IndexError,
/// NotImplementedError), else `failure`.
void raise_failure(const c10::OperatorHandle& op, torch::jit::Stack* stack);
/// Exception type of the next raise_failure() of this thread.
void note_failure(const Failed& failure);

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_HANDLERS_H_
