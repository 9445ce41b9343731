// Runs of compiled graphs.
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/ops/empty_strided.h>
#include <diopigen_torch/allocator.h>
#include <diopigen_torch/call.h>
#include <diopigen_torch/capture.h>
#include <diopigen_torch/device.h>
#include <diopigen_torch/kernel.h>
#include <diopigen_torch/shaped.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "sized.h"

namespace diopigen::backend {

namespace {

at::Tensor over(const at::Storage& storage, c10::DispatchKeySet keys, const SlotPlan& plan, int64_t offset) {
    auto created = c10::make_intrusive<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(storage), keys,
                                                        c10::scalarTypeToTypeMeta(plan.type));
    created->set_sizes_and_strides(plan.sizes, plan.strides, offset);
    return at::Tensor(std::move(created));
}

diopigenGraphSlot_t memory_of(const at::Tensor& tensor) {
    if (!tensor.defined() || tensor.numel() == 0) {
        return {nullptr, 0};
    }
    int64_t extent = 1;
    for (int64_t i = 0; i < tensor.dim(); ++i) {
        extent += (tensor.size(i) - 1) * tensor.stride(i);
    }
    return {tensor.unsafeGetTensorImpl()->mutable_data(),
            static_cast<uint64_t>(extent) * static_cast<uint64_t>(tensor.itemsize())};
}

// Of a view, without its tensor.
diopigenGraphSlot_t memory_of(const SlotPlan& view, const diopigenGraphSlot_t& base) {
    if (view.extent == 0 || base.data == nullptr) {
        return {nullptr, 0};
    }
    const auto item = static_cast<int64_t>(c10::elementSize(view.type));
    return {static_cast<char*>(base.data) + view.offset * item, static_cast<uint64_t>(view.extent * item)};
}

// Returns whether strides differ at most where a dimension has one element.
bool has_same_layout(const at::Tensor& tensor, at::IntArrayRef strides) {
    for (size_t k = 0; k < strides.size(); ++k) {
        if (tensor.sizes()[k] > 1 && tensor.strides()[k] != strides[k]) {
            return false;
        }
    }
    return true;
}

}  // namespace

std::shared_ptr<Program::Instance> Program::make_instance(const Sized& sized) const {
    auto created = std::make_shared<Instance>();
    created->slots.resize(slots_.size());
    const at::TensorOptions bytes = at::TensorOptions().dtype(at::kByte).device(c10::Device(kDeviceType, device_));
    at::Tensor arena;
    if (sized.arena_bytes > 0) {
        arena = make_output({sized.arena_bytes}, {}, bytes);
    }
    for (size_t slot = 0; slot < slots_.size(); ++slot) {
        const SlotPlan& plan = sized.slots[slot];
        if (plan.kind == SlotPlan::Kind::kConstant) {
            const size_t own = constants_.size();
            created->slots[slot] = plan.index < own ? constants_[plan.index] : sized.constants[plan.index - own];
        } else if (plan.kind == SlotPlan::Kind::kArena) {
            const auto item = static_cast<int64_t>(c10::elementSize(plan.type));
            created->slots[slot] = over(arena.storage(), arena.key_set(), plan, plan.offset / item);
        }
    }
    for (const OperandPlan& plan : operands_) {
        Operand& operand = created->operands.emplace_back(plan.value);
        if (plan.is_tensor) {
            operand.tensor = &created->slots[static_cast<size_t>(plan.slots.front())];
        } else if (plan.is_list) {
            std::vector<diopiConstTensorHandle_t>& list = created->lists.emplace_back();
            for (const int64_t slot : plan.slots) {
                list.push_back(handle(std::as_const(created->slots[static_cast<size_t>(slot)])));
            }
            operand.pointer = list.data();
        }
    }
    for (const auto& [index, operand] : sized.operands) {
        created->operands[index] = operand;
    }
    if (sized.graph != nullptr) {
        std::transform(created->slots.begin(), created->slots.end(), std::back_inserter(created->memory),
                       [](const at::Tensor& tensor) { return memory_of(tensor); });
    }
    return created;
}

std::shared_ptr<Program::Instance> Program::take_instance(Sized& sized, c10::StreamId stream) {
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        auto& idle = sized.idle[stream];
        if (!idle.empty()) {
            std::shared_ptr<Instance> taken = std::move(idle.back());
            idle.pop_back();
            return taken;
        }
    }
    ++instances_;
    return make_instance(sized);
}

void Program::prepare(const Sized& sized, Instance& instance, uint32_t slot, std::vector<at::Tensor>& inputs) const {
    const SlotPlan& plan = sized.slots[slot];
    at::Tensor& tensor = instance.slots[slot];
    if (plan.kind == SlotPlan::Kind::kInput) {
        tensor = std::move(inputs[plan.index]);
    } else if (plan.kind == SlotPlan::Kind::kFresh) {
        const at::TensorOptions options =
            at::TensorOptions().dtype(plan.type).device(c10::Device(kDeviceType, device_));
        tensor = make_output(plan.sizes, plan.strides, options);
    } else {
        const at::Tensor& base = instance.slots[plan.base];
        const int64_t start = base.storage_offset() * static_cast<int64_t>(base.itemsize());
        const auto item = static_cast<int64_t>(c10::elementSize(plan.type));
        const int64_t end = start + (plan.offset + plan.extent) * item;
        TORCH_CHECK(slots_[plan.base].kind != SlotPlan::Kind::kResult || plan.extent == 0 ||
                        end <= static_cast<int64_t>(base.storage().nbytes()),
                    "a view of a compiled graph is larger than its memory: a meta function was wrong about its base");
        // The base may be conjugated or negated lazily, and the view of what a step made of it is not.
        constexpr c10::DispatchKeySet kLazy{c10::DispatchKey::Conjugate, c10::DispatchKey::Negative};
        tensor = over(base.storage(), base.key_set() - kLazy, plan, start / item + plan.offset);
    }
}

// A result of the dispatcher. What has memory already is written; what the plan knows the layout of gets that one.
void Program::store(const SlotPlan& plan, at::Tensor& target, at::Tensor tensor) {
    if (plan.kind != SlotPlan::Kind::kResult) {
        target.copy_(tensor);
        return;
    }
    // A meta function may be wrong about a result that is not read, such as the seed of an attention without
    // dropout.
    const bool is_as_planned = tensor.defined() && plan.has_layout && tensor.sizes() == plan.sizes;
    if (is_as_planned && tensor.numel() > 0 && tensor.strides() != plan.strides) {
        if (has_same_layout(tensor, plan.strides)) {
            tensor = tensor.as_strided(plan.sizes, plan.strides);
        } else {
            at::Tensor copy = at::empty_strided(plan.sizes, plan.strides, tensor.options());
            copy.copy_(tensor);
            tensor = std::move(copy);
        }
    }
    target = std::move(tensor);
}

void Program::dispatch(const Sized& sized, const Step& step, Instance& instance) const {
    const auto keep = [&](int64_t slot, at::Tensor tensor) {
        if (slot >= 0) {
            const auto at = static_cast<size_t>(slot);
            store(sized.slots[at], instance.slots[at], std::move(tensor));
        }
    };
    torch::jit::Stack stack;
    stack.reserve(step.arguments.size());
    for (const ArgumentPlan& argument : step.arguments) {
        const auto at = [&](int64_t slot) { return instance.slots[static_cast<size_t>(slot)]; };
        switch (argument.form) {
            case ArgumentPlan::Form::kValue:
                stack.push_back(argument.open == nullptr
                                    ? argument.value
                                    : argument_value(*argument.open, *argument.type, sized.numbers));
                break;
            case ArgumentPlan::Form::kTensor:
                stack.emplace_back(at(argument.slots.front()));
                break;
            case ArgumentPlan::Form::kTensors: {
                c10::List<at::Tensor> list;
                for (const int64_t slot : argument.slots) {
                    list.push_back(at(slot));
                }
                stack.emplace_back(std::move(list));
                break;
            }
            case ArgumentPlan::Form::kOptionalTensors: {
                c10::List<std::optional<at::Tensor>> list;
                for (const int64_t slot : argument.slots) {
                    list.push_back(slot < 0 ? std::nullopt : std::make_optional(at(slot)));
                }
                stack.emplace_back(std::move(list));
                break;
            }
        }
    }
    try {
        step.op->callBoxed(&stack);
        for (size_t i = 0; i < step.results.size() && i < stack.size(); ++i) {
            const ResultPlan& result = step.results[i];
            if (!result.is_list) {
                if (stack[i].isTensor()) {
                    keep(result.slots.front(), stack[i].toTensor());
                }
                continue;
            }
            const std::vector<at::Tensor> list = stack[i].toTensorVector();
            TORCH_CHECK(list.size() == result.slots.size(), "the result has ", list.size(),
                        " tensors; its meta function said ", result.slots.size());
            for (size_t k = 0; k < list.size(); ++k) {
                keep(result.slots[k], list[k]);
            }
        }
    } catch (c10::Error& error) {
        error.add_context("in node '" + step.node + "' (" + step.name + ") of a compiled graph" +
                          (step.source.empty() ? "" : ", " + step.source));
        throw;
    }
    step.calls->calls.fetch_add(1, std::memory_order_relaxed);
}

void Program::raise(const Step& step, const std::string& what) {
    TORCH_CHECK(false, step.name, ": ", what, "\nin node '", step.node, "' of a compiled graph",
                step.source.empty() ? "" : ", ", step.source);
}

void Program::run_direct(const Sized& sized, const Step& step, Instance& instance, diopiContext& context) const {
    const diopiError_t status = step.trampoline(&context, &instance.operands[step.first_operand], step.function);
    if (C10_UNLIKELY(!context.temporaries.empty())) {
        context.temporaries.clear();
    }
    if (C10_LIKELY(status == diopiSuccess)) {
        if (step.writes >= 0) {
            instance.slots[static_cast<size_t>(step.writes)].unsafeGetTensorImpl()->bump_version();
        }
        return;
    }
    try {
        Call::fail(step.function_name.c_str(), status);
    } catch (const FallbackRequested&) {
        step.is_declined.store(true, std::memory_order_relaxed);
    } catch (const Failed& failure) {
        raise(step, failure.what());
    }
    dispatch(sized, step, instance);
}

void Program::run_fused(const Sized& sized, const Step& step, const Instance& instance) const {
    const FusedPlan& fused = *step.fused;
    const LaunchPlan& launch = sized.launches[fused.launch];
    std::vector<diopigenKernelBuffer_t> buffers = launch.buffers;
    for (size_t i = 0; i < buffers.size(); ++i) {
        const at::Tensor& tensor = instance.slots[static_cast<size_t>(fused.slots[i])];
        buffers[i].data = tensor.unsafeGetTensorImpl()->mutable_data();
    }
    try {
        fused.kernel->launch(current_handle(device_), buffers, launch.numbers, launch.items, launch.grain);
    } catch (const c10::Error& error) {
        raise(step, error.what_without_backtrace());
    }
    for (const size_t slot : fused.writes) {
        instance.slots[slot].unsafeGetTensorImpl()->bump_version();
    }
}

void Program::run_step(const Sized& sized, const Step& step, Instance& instance, diopiContext& context,
                       bool is_watched) const {
    if (step.fused != nullptr) {
        run_fused(sized, step, instance);
    } else if (C10_LIKELY(step.trampoline != nullptr && !is_watched &&
                          !step.is_declined.load(std::memory_order_relaxed))) {
        run_direct(sized, step, instance, context);
    } else {
        dispatch(sized, step, instance);
    }
}

// All memory exists from the begin of the run to its end: the device may work on any of it at once. A device that
// replays steps needs no tensors for views.
void Program::run_whole(const Sized& sized, Instance& instance, std::vector<at::Tensor>& inputs,
                        diopiContext& context) const {
    std::vector<diopigenGraphSlot_t>& memory = instance.memory;
    for (const uint32_t slot : roots_) {
        prepare(sized, instance, slot, inputs);
        memory[slot] = memory_of(instance.slots[slot]);
    }
    for (const uint32_t slot : constant_slots_) {
        memory[slot] = memory_of(instance.slots[slot]);
    }
    for (const uint32_t slot : views_) {
        memory[slot] = memory_of(sized.slots[slot], memory[sized.slots[slot].base]);
    }
    bool have_views = false;
    const auto make_views = [&] {
        if (have_views) {
            return;
        }
        have_views = true;
        for (const uint32_t slot : views_) {
            prepare(sized, instance, slot, inputs);
        }
    };
    sized.graph->run(current_handle(device_), memory, [&](uint64_t step) {
        make_views();
        run_step(sized, steps_.at(step), instance, context, false);
    });
    const auto is_missing = [&](size_t slot) { return !instance.slots[slot].defined(); };
    if (std::any_of(outputs_.begin(), outputs_.end(), is_missing)) {
        make_views();
    }
}

void Program::own_in_capture(const Sized& sized) const {
    const diopiStreamHandle_t stream = current_handle(device_);
    for (const std::vector<at::Tensor>* const tensors : {&constants_, &sized.constants}) {
        for (const at::Tensor& tensor : *tensors) {
            backend::own_in_capture(stream, tensor);
        }
    }
    for (const Step& step : steps_) {
        if (step.fused != nullptr) {
            backend::own_in_capture(stream, step.fused->kernel);
        }
    }
}

std::vector<at::Tensor> Program::run(std::vector<at::Tensor> inputs, const std::vector<int64_t>& numbers) {
    const std::shared_ptr<Sized> sized = sized_for(inputs, numbers);
    TORCH_CHECK(sized != nullptr, "a compiled graph is called with sizes that its plan is not for");
    return run(*sized, std::move(inputs));
}

std::vector<at::Tensor> Program::run(Sized& sized, std::vector<at::Tensor> inputs) {
    TORCH_CHECK(inputs.size() == input_count_, "a compiled graph has ", input_count_, " inputs, not ", inputs.size());
    initialize();
    const WithDevice here(device_);
    // Versions of inputs that are written still count.
    const at::AutoDispatchBelowAutograd below;
    const c10::StreamId stream = current_stream(device_).id();
    // Launches of a captured graph use the memory that it was captured with: it is in the graph's pool, and no later
    // run gets it.
    const bool is_captured = is_capturing(current_handle(device_));
    if (C10_UNLIKELY(is_captured)) {
        own_in_capture(sized);
    }
    std::shared_ptr<Instance> instance = is_captured ? make_instance(sized) : take_instance(sized, stream);
    const bool is_watched = backend::is_watched.load(std::memory_order_relaxed);
    diopiContext context;
    context.device = device_;
    if (sized.graph != nullptr && !is_watched && !is_captured) {
        run_whole(sized, *instance, inputs, context);
    } else {
        for (const Step& step : steps_) {
            for (const uint32_t slot : step.prepared) {
                prepare(sized, *instance, slot, inputs);
            }
            run_step(sized, step, *instance, context, is_watched);
            for (const uint32_t slot : step.released) {
                instance->slots[slot].reset();
            }
        }
        for (const uint32_t slot : prepared_last_) {
            prepare(sized, *instance, slot, inputs);
        }
    }
    std::vector<at::Tensor> outputs;
    outputs.reserve(outputs_.size());
    for (const size_t output : outputs_) {
        outputs.push_back(instance->slots[output]);
    }
    for (size_t slot = 0; slot < slots_.size(); ++slot) {
        const SlotPlan::Kind kind = slots_[slot].kind;
        if (kind != SlotPlan::Kind::kArena && kind != SlotPlan::Kind::kConstant) {
            instance->slots[slot].reset();
        }
    }
    if (!is_captured) {
        const std::lock_guard<std::mutex> lock(mutex_);
        sized.idle[stream].push_back(std::move(instance));
    }
    return outputs;
}

}  // namespace diopigen::backend
