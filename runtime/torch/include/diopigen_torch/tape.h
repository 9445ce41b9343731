// Compiled graphs: a list of steps, each a call of a function of the interface or of an operator through the
// dispatcher.
//
// A plan is a JSON document (docs/compile.md). It becomes a program once; a run takes an instance of it, which has an
// arena of its own, so that streams and threads that run the same graph at once do not share memory.
#ifndef DIOPIGEN_TORCH_TAPE_H_
#define DIOPIGEN_TORCH_TAPE_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <diopigen/json.h>
#include <diopigen_torch/compiled.h>
#include <diopigen_torch/device_graph.h>
#include <diopigen_torch/device_kernel.h>

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace diopigen::backend {

/// A tensor of the graph. Those in the arena are made once for an instance, the others in each run before their first
/// use.
struct SlotPlan {
    enum class Kind { input, constant, arena, fresh, view, result };

    Kind kind = Kind::input;
    /// Of the input or the constant.
    size_t index = 0;
    /// The slot that a view looks at.
    size_t base = 0;
    /// In the arena in bytes; of a view in its elements, counted from the start of the base.
    int64_t offset = 0;
    at::ScalarType type = at::kFloat;
    std::vector<int64_t> sizes;
    std::vector<int64_t> strides;
    /// Elements from the first to behind the last one.
    int64_t extent = 0;
    /// Whether sizes and strides are known, which they need not be of a result.
    bool has_layout = false;
};

/// An argument of an operator: a value, or tensors in slots. -1 stands for no tensor in a list.
struct ArgumentPlan {
    enum class Form { value, tensor, tensors, optional_tensors };

    Form form = Form::value;
    c10::IValue value;
    std::vector<int64_t> slots;
};

/// Where a result goes; several slots for a list of tensors, -1 where nothing uses it.
struct ResultPlan {
    bool is_list = false;
    std::vector<int64_t> slots;
};

/// An operand before there is an instance: tensors are named by slot.
struct OperandPlan {
    Operand value{};
    bool is_tensor = false;
    bool is_list = false;
    std::vector<int64_t> slots;
};

/// How often an overload went through the dispatcher, for one reason.
struct CompiledCalls {
    std::string overload;
    std::string reason;
    std::atomic<int64_t> calls{0};
};

/// A kernel that was compiled for the graph. Sizes and strides are among its numbers.
struct FusedPlan {
    std::shared_ptr<const DeviceKernel> kernel;
    std::vector<int64_t> slots;
    std::vector<diopigenKernelBuffer_t> buffers;
    std::vector<int64_t> numbers;
    /// Slots of inputs that it changes, whose versions count.
    std::vector<size_t> writes;
    int64_t items = 0;
    int64_t grain = 1;
};

struct Step {
    /// Null where the operator goes through the dispatcher.
    Trampoline trampoline = nullptr;
    AnyFunction function = nullptr;
    size_t first_operand = 0;
    std::vector<uint32_t> prepared;
    std::vector<uint32_t> released;

    std::string name;
    std::string function_name;
    std::string node;
    std::string source;
    std::optional<c10::OperatorHandle> op;
    std::vector<ArgumentPlan> arguments;
    std::vector<ResultPlan> results;
    CompiledCalls* calls = nullptr;
    /// The slot of the input that the function changes, whose version counts; -1 for none.
    int64_t writes = -1;
    /// Instead of a call.
    std::unique_ptr<FusedPlan> fused;
    /// Set once the function has declined the call.
    mutable std::atomic<bool> is_declined{false};
};

class Program {
  public:
    /// Throws where the plan is not what this version reads, or names what is not there.
    Program(const Json& plan, std::vector<at::Tensor> constants);
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    /// Hands the document of the plan to the device, where it runs graphs and no step goes through the dispatcher. A
    /// device that does not take it is warned about, and steps run one by one.
    void offer(const std::string& document);

    /// The outputs that are tensors. `inputs` are released as soon as they are not needed any more.
    std::vector<at::Tensor> run(std::vector<at::Tensor> inputs);

    int64_t arenaBytes() const { return arena_bytes_; }
    int64_t stepCount() const { return static_cast<int64_t>(steps_.size()); }
    int64_t dispatchedCount() const;
    int64_t fusedCount() const;
    int64_t instanceCount() const { return instances_; }
    /// Whether the device runs the graph as a whole.
    bool isWhole() const { return graph_ != nullptr; }

  private:
    struct Instance;

    void addSlot(const Json& plan);
    void addStep(const Json& plan, Step& step);
    void addFused(const Json& plan, Step& step) const;
    void addOperands(const Json& operands, const CompiledFunction& function);
    OperandPlan operandOf(const Json& value, char kind);
    ArgumentPlan argumentOf(const Json& value, const c10::Argument& argument) const;
    void planLifetimes();
    std::shared_ptr<Instance> makeInstance() const;
    std::shared_ptr<Instance> takeInstance(c10::StreamId stream);
    void prepare(Instance& instance, uint32_t slot, std::vector<at::Tensor>& inputs) const;
    void runWhole(Instance& instance, std::vector<at::Tensor>& inputs, diopiContext& context) const;
    void runStep(const Step& step, Instance& instance, diopiContext& context, bool is_watched) const;
    void dispatch(const Step& step, Instance& instance) const;
    void store(Instance& instance, int64_t slot, at::Tensor tensor) const;
    void runFused(const Step& step, const Instance& instance) const;
    void runDirect(const Step& step, Instance& instance, diopiContext& context) const;
    [[noreturn]] static void raise(const Step& step, const std::string& what);
    size_t slotIndex(const Json& value) const;

    c10::DeviceIndex device_ = 0;
    size_t input_count_ = 0;
    int64_t arena_bytes_ = 0;
    std::vector<SlotPlan> slots_;
    std::vector<at::Tensor> constants_;
    std::deque<Step> steps_;
    std::vector<OperandPlan> operands_;
    std::vector<size_t> outputs_;
    std::vector<uint32_t> prepared_last_;
    // What operands point to.
    std::deque<diopiScalar_t> scalars_;
    std::deque<std::vector<int64_t>> sizes_;
    std::deque<diopiSize_t> size_pointers_;
    std::deque<std::string> texts_;
    std::deque<int64_t> integers_;
    std::deque<double> reals_;
    std::deque<bool> booleans_;
    std::unique_ptr<DeviceGraph> graph_;

    std::mutex mutex_;
    std::map<c10::StreamId, std::vector<std::shared_ptr<Instance>>> idle_;
    std::atomic<int64_t> instances_{0};
};

/// Programs by number, for Python.
int64_t addProgram(std::string_view plan, std::vector<at::Tensor> constants);
std::shared_ptr<Program> programOf(int64_t number);
void removeProgram(int64_t number);

/// The counter of an overload and a reason; it stays for the whole process.
CompiledCalls* compiledCallsOf(const std::string& overload, const std::string& reason);
std::vector<const CompiledCalls*> allCompiledCalls();
void resetCompiledCalls();

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_TAPE_H_
