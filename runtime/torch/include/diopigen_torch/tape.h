// Compiled graphs: a list of steps, each a call of a function of the interface or of an operator through the
// dispatcher.
//
// A plan is a JSON document (docs/compile.md). It becomes a program once. Numbers that follow from the sizes of inputs
// are evaluated once for each tuple of sizes; a run takes an instance for its sizes, which has an arena of its own, so
// that streams and threads that run the same graph at once do not share memory.
#ifndef DIOPIGEN_TORCH_TAPE_H_
#define DIOPIGEN_TORCH_TAPE_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <diopigen/json.h>
#include <diopigen_torch/compiled.h>
#include <diopigen_torch/device_graph.h>
#include <diopigen_torch/device_kernel.h>
#include <diopigen_torch/expressions.h>
#include <diopigen_torch/operands.h>

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
    enum class Kind { kInput, kConstant, kArena, kFresh, kView, kResult };

    Kind kind = Kind::kInput;
    /// Of the input or the constant.
    size_t index = 0;
    /// The slot that a view looks at.
    size_t base = 0;
    /// In the arena in bytes; of a view in its elements, counted from the start of the base.
    int64_t offset = 0;
    /// In the arena.
    size_t storage = 0;
    at::ScalarType type = at::kFloat;
    std::vector<int64_t> sizes;
    std::vector<int64_t> strides;
    /// Elements from the first to behind the last one.
    int64_t extent = 0;
    /// True if the plan has sizes and strides, which it need not have of a result.
    bool has_layout = false;
    size_t rank = 0;
    /// True if anything of it follows from sizes.
    bool is_open = false;
};

/// A size that is known when the graph is called: a number that is passed, or the size of an input.
struct SymbolPlan {
    std::string name;
    bool is_number = false;
    size_t index = 0;
    size_t dimension = 0;
    int64_t least = 0;
    int64_t most = 0;
};

/// An argument of an operator: a value, or tensors in slots. -1 stands for no tensor in a list.
struct ArgumentPlan {
    enum class Form { kValue, kTensor, kTensors, kOptionalTensors };

    Form form = Form::kValue;
    c10::IValue value;
    std::vector<int64_t> slots;
    /// Of a value that follows from sizes.
    const Json* open = nullptr;
    c10::TypePtr type;
};

/// Slot of a result; several slots for a list of tensors, -1 where nothing uses it.
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
    /// Of a value that follows from sizes.
    const Json* open = nullptr;
    char kind = 0;
};

/// Number of calls of an overload through the dispatcher, for one reason.
struct CompiledCalls {
    std::string overload;
    std::string reason;
    std::atomic<int64_t> calls{0};
};

/// A kernel that was compiled for the graph.
struct FusedPlan {
    std::shared_ptr<const DeviceKernel> kernel;
    std::vector<int64_t> slots;
    /// Slots of inputs that it changes, whose versions count.
    std::vector<size_t> writes;
    /// Among the launches for a tuple of sizes.
    size_t launch = 0;
};

/// Arguments of a kernel launch. Sizes and strides are among its numbers.
struct LaunchPlan {
    std::vector<diopigenKernelBuffer_t> buffers;
    std::vector<int64_t> numbers;
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
    /// Number of cached tuples of sizes; the one that was not used for longest goes first.
    static constexpr size_t kMostSizes = 32;

    /// Throws where the plan is not what this version reads, or names what is not there.
    Program(Json plan, std::vector<at::Tensor> constants, size_t most_sizes = kMostSizes);
    ~Program();
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    /// All that follows from sizes.
    struct Sized;

    /// For the sizes of inputs, and numbers that are passed. Null where the plan is not for these.
    std::shared_ptr<Sized> sized_for(const std::vector<at::Tensor>& inputs, const std::vector<int64_t>& numbers);

    /// The outputs that are tensors. `inputs` are released as soon as they are not needed any more.
    std::vector<at::Tensor> run(Sized& sized, std::vector<at::Tensor> inputs);
    /// For inputs whose sizes the plan is for; throws where it is not.
    std::vector<at::Tensor> run(std::vector<at::Tensor> inputs, const std::vector<int64_t>& numbers = {});

    /// The outputs that are numbers and follow from sizes.
    const std::vector<c10::Scalar>& results(const Sized& sized) const;
    /// An input, where the plan has its layout; its sizes are those of `sized`.
    const SlotPlan* input_slot(size_t index, const Sized* sized = nullptr) const;

    const std::vector<SymbolPlan>& symbols() const { return symbols_; }
    /// For the sizes of the latest call.
    int64_t arena_bytes() const;
    int64_t step_count() const { return static_cast<int64_t>(steps_.size()); }
    int64_t dispatched_count() const;
    int64_t fused_count() const;
    int64_t instance_count() const { return instances_; }
    /// Tuples of sizes that were planned, and those that are cached.
    int64_t sized_count() const { return sized_; }
    int64_t cached_count() const;
    /// Returns whether the device runs the graph as a whole, for the sizes of the latest call.
    bool is_whole() const;

  private:
    struct Instance;

    void add_symbol(const Json& plan);
    SlotPlan slot_of(const Json& plan, const Numbers& numbers) const;
    void add_step(const Json& plan, Step& step);
    void add_fused(const Json& plan, Step& step);
    void add_operands(const Json& operands, const CompiledFunction& function);
    OperandPlan operand_of(const Json& value, char kind);
    ArgumentPlan argument_of(const Json& value, const c10::Argument& argument) const;
    void plan_lifetimes();
    size_t slot_index(const Json& value) const;

    std::optional<std::vector<int64_t>> symbols_of(const std::vector<at::Tensor>& inputs,
                                                   const std::vector<int64_t>& numbers) const;
    std::shared_ptr<Sized> make_sized(std::vector<int64_t> symbols, bool is_offered) const;
    std::shared_ptr<Sized> latest() const;

    std::shared_ptr<Instance> make_instance(const Sized& sized) const;
    std::shared_ptr<Instance> take_instance(Sized& sized, c10::StreamId stream);
    /// Lets the graph of a capture own what a run uses.
    void own_in_capture(const Sized& sized) const;
    void prepare(const Sized& sized, Instance& instance, uint32_t slot, std::vector<at::Tensor>& inputs) const;
    void run_whole(const Sized& sized, Instance& instance, std::vector<at::Tensor>& inputs,
                   diopiContext& context) const;
    void run_step(const Sized& sized, const Step& step, Instance& instance, diopiContext& context,
                  bool is_watched) const;
    void dispatch(const Sized& sized, const Step& step, Instance& instance) const;
    static void store(const SlotPlan& plan, at::Tensor& target, at::Tensor tensor);
    void run_fused(const Sized& sized, const Step& step, const Instance& instance) const;
    void run_direct(const Sized& sized, const Step& step, Instance& instance, diopiContext& context) const;
    [[noreturn]] static void raise(const Step& step, const std::string& what);

    Json document_;
    c10::DeviceIndex device_ = 0;
    size_t input_count_ = 0;
    std::vector<at::Tensor> constants_;
    /// Computes what follows from sizes alone: more constants, for each tuple of sizes.
    std::unique_ptr<Program> first_;
    std::vector<SymbolPlan> symbols_;
    std::optional<Expressions> expressions_;
    /// Without what follows from sizes.
    std::vector<SlotPlan> slots_;
    std::deque<Step> steps_;
    std::vector<OperandPlan> operands_;
    OperandValues values_;
    std::vector<const Json*> launches_;
    std::vector<size_t> outputs_;
    std::vector<uint32_t> prepared_last_;
    /// Of what is used: inputs and results, constants, and views, each behind its base.
    std::vector<uint32_t> roots_;
    std::vector<uint32_t> constant_slots_;
    std::vector<uint32_t> views_;

    mutable std::mutex mutex_;
    size_t most_sizes_;
    /// The one that was used last comes first.
    std::vector<std::shared_ptr<Sized>> cached_;
    std::atomic<int64_t> instances_{0};
    std::atomic<int64_t> sized_{0};
};

/// Programs by number, for Python.
int64_t add_program(std::string_view plan, std::vector<at::Tensor> constants, int64_t most_sizes);
std::shared_ptr<Program> program_of(int64_t number);
void remove_program(int64_t number);

/// The counter of an overload and a reason; it stays for the whole process.
CompiledCalls* compiled_calls_of(const std::string& overload, const std::string& reason);
std::vector<const CompiledCalls*> all_compiled_calls();
void reset_compiled_calls();

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_TAPE_H_
