// What ran on the CPU, and how often.
#ifndef DIOPIGEN_TORCH_FALLBACK_H_
#define DIOPIGEN_TORCH_FALLBACK_H_

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace diopigen::backend {

/// `add.out`.
std::string overloadName(const c10::OperatorHandle& op);

/// Runs a call whose arguments are on the CPU there. Not counted.
void runOnCpu(const c10::OperatorHandle& op, torch::jit::Stack* stack);

/// Operators that PyTorch composes for compressed matrices (CSR, CSC, BSR, BSC) of every backend, of what these lack,
/// are rejected in a sentence. Called once, after all kernels are registered: those that there are stay.
void rejectComposedForCompressed();

/// Calls by overload: `unique_dim`, `sort.values_stable`.
std::map<std::string, int64_t> fallbackCounts();
/// Why they did, with the dtypes of their tensors: up to 8 reasons by overload.
std::map<std::string, std::set<std::string>> fallbackReasons();
void resetFallbackCounts();

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_FALLBACK_H_
