// A compiled graph for one tuple of sizes.
#ifndef DIOPIGEN_TORCH_COMPILE_SIZED_H_
#define DIOPIGEN_TORCH_COMPILE_SIZED_H_

#include <diopigen_torch/tape.h>

#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace diopigen::backend {

/// Tensors and operands of a run. Those in the arena stay as they are.
struct Program::Instance {
    std::vector<at::Tensor> slots;
    std::vector<Operand> operands;
    std::deque<std::vector<diopiConstTensorHandle_t>> lists;
    /// Of the slots, for a device that runs the graph as a whole. That of the arena stays as it is.
    std::vector<diopigenGraphSlot_t> memory;
};

struct Program::Sized {
    Sized() = default;
    Sized(const Sized&) = delete;
    Sized& operator=(const Sized&) = delete;
    /// Waits for the device where it may still read tensors that go with the sizes.
    ~Sized();

    c10::DeviceIndex device = 0;
    std::vector<int64_t> symbols;
    Numbers numbers;
    std::vector<SlotPlan> slots;
    std::vector<LaunchPlan> launches;
    /// Those that follow from sizes, by their index.
    std::vector<std::pair<size_t, Operand>> operands;
    OperandValues values;
    std::vector<c10::Scalar> results;
    /// Constants of these sizes; they follow the constants of the graph.
    std::vector<at::Tensor> constants;
    int64_t arena_bytes = 0;
    std::unique_ptr<DeviceGraph> graph;
    /// Under the lock of the program.
    std::map<c10::StreamId, std::vector<std::shared_ptr<Instance>>> idle;
};

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_COMPILE_SIZED_H_
