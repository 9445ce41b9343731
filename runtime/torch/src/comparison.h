// One call on the device and on the CPU.
#ifndef DIOPIGEN_TORCH_COMPARISON_H_
#define DIOPIGEN_TORCH_COMPARISON_H_

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <string>
#include <vector>

namespace diopigen::backend {

/// The arguments of a call on the CPU, with memory of their own.
torch::jit::Stack copied(const torch::jit::Stack& values);

/// Runs the call on copies of its arguments on the CPU, before the device's kernel changes them. Operators that draw
/// random numbers, and those that the CPU does not take, are not compared.
class Comparison {
  public:
    Comparison(const c10::OperatorHandle& op, const torch::jit::Stack& arguments);

    /// Compares results, arguments that were to be written, and those that were not. What differs is reported on
    /// standard error with the worst element, and the call is kept in `folder`. The bound is that of `functions`, the
    /// functions of the interface that the call led to; without one, results must be equal.
    void compare(const torch::jit::Stack& arguments, const torch::jit::Stack& results,
                 const std::vector<const char*>& functions, const std::string& folder);

  private:
    const c10::OperatorHandle& op_;
    // As they were.
    torch::jit::Stack before_;
    // As the CPU left them.
    torch::jit::Stack expected_;
    torch::jit::Stack results_;
    bool is_run_ = false;
};

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_COMPARISON_H_
