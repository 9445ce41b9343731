// Counts of calls that ran on the CPU.
#ifndef DIOPIGEN_TORCH_FALLBACK_H_
#define DIOPIGEN_TORCH_FALLBACK_H_

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <cstdint>
#include <string>
#include <vector>

namespace diopigen::backend {

/// `add.out`.
std::string overload_name(const c10::OperatorHandle& op);

/// Runs a call whose arguments are on the CPU there. Not counted.
void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack);

/// Runs a call on the CPU that writes tensors in which several indices are one element. They have the same layout
/// there, so that the CPU writes one after another, or rejects the call.
void fall_back_in_place(const c10::OperatorHandle& op, torch::jit::Stack* stack);

/// Operators that PyTorch composes for compressed matrices (CSR, CSC, BSR, BSC) of every backend, of what these lack,
/// are rejected in a sentence. Called once, after all kernels are registered: those that there are stay.
void reject_composed_for_compressed();

/// Origin of a fallback: the vendor's function, and its status, which is empty where the library lacks it.
struct Left {
    std::string function;
    std::string status;
};
/// Origin of the fallback that this thread runs; empty where it was none of the vendor's functions.
void note_left(Left left);

/// Why this thread's last fall_back() was called; empty where there was none since this was asked before.
std::string take_reason();

/// Calls of an overload, such as `sort.values_stable`, that ran on the CPU for one reason. The reason has the dtypes of
/// the call's tensors; after 64 reasons of an overload, others count as one.
struct Fallback {
    std::string overload;
    std::string reason;
    Left left;
    int64_t calls = 0;
};
std::vector<Fallback> fallbacks();
void reset_fallbacks();

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_FALLBACK_H_
