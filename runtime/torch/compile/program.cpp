// From a plan to a program: everything that a run does not have to look up again.
#include <diopigen_torch/tape.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "sized.h"

namespace diopigen::backend {

namespace {

constexpr int64_t kPlanVersion = 2;

}  // namespace

Program::Program(Json plan, std::vector<at::Tensor> constants, size_t most_sizes)
    : document_(std::move(plan)), constants_(std::move(constants)), most_sizes_(std::max<size_t>(1, most_sizes)) {
    TORCH_CHECK(document_.at("version").integer() == kPlanVersion, "a compiled graph of version ",
                document_.at("version").integer(), "; this library reads ", kPlanVersion);
    device_ = static_cast<c10::DeviceIndex>(document_.at("device").integer());
    input_count_ = static_cast<size_t>(document_.at("inputs").integer());
    for (const Json& symbol : document_.at("symbols").list()) {
        add_symbol(symbol);
    }
    expressions_.emplace(document_.at("expressions"), symbols_.size());
    for (const Json& slot : document_.at("slots").list()) {
        slots_.push_back(slot_of(slot, Numbers()));
    }
    for (const Json& step : document_.at("steps").list()) {
        add_step(step, steps_.emplace_back());
    }
    for (const Json& output : document_.at("outputs").list()) {
        outputs_.push_back(slot_index(output));
    }
    plan_lifetimes();
    if (const Json& first = document_.at("first"); !first.is_null()) {
        first_ = std::make_unique<Program>(first, constants_);
    }
    if (symbols_.empty()) {
        cached_.push_back(make_sized({}, true));
        sized_ = 1;
        launches_.clear();
        document_ = Json();
    }
}

void Program::add_symbol(const Json& plan) {
    SymbolPlan& symbol = symbols_.emplace_back();
    symbol.name = plan.at("name").text();
    symbol.is_number = !plan.at("number").is_null();
    symbol.index = static_cast<size_t>(plan.at(symbol.is_number ? "number" : "input").integer());
    if (!symbol.is_number) {
        symbol.dimension = static_cast<size_t>(plan.at("dimension").integer());
        TORCH_CHECK(symbol.index < input_count_, "a compiled graph has no input ", symbol.index);
    }
    const Json &least = plan.at("least"), &most = plan.at("most");
    symbol.least = least.is_null() ? std::numeric_limits<int64_t>::min() : least.integer();
    symbol.most = most.is_null() ? std::numeric_limits<int64_t>::max() : most.integer();
}

size_t Program::slot_index(const Json& value) const {
    const int64_t slot = value.integer();
    TORCH_CHECK(slot >= 0 && slot < static_cast<int64_t>(slots_.size()), "a compiled graph has no slot ", slot);
    return static_cast<size_t>(slot);
}

// A slot; what follows from sizes is left out where these are not known yet.
SlotPlan Program::slot_of(const Json& plan, const Numbers& numbers) const {
    static const std::map<std::string, SlotPlan::Kind> kinds = {
        {"input", SlotPlan::Kind::kInput}, {"constant", SlotPlan::Kind::kConstant},
        {"arena", SlotPlan::Kind::kArena}, {"fresh", SlotPlan::Kind::kFresh},
        {"view", SlotPlan::Kind::kView},   {"result", SlotPlan::Kind::kResult}};
    const auto found = kinds.find(plan.at("kind").text());
    TORCH_CHECK(found != kinds.end(), "a compiled graph has a slot of the kind '", plan.at("kind").text(), "'");
    SlotPlan slot;
    slot.kind = found->second;
    slot.is_open = Numbers::is_open(plan);
    const bool is_known = !slot.is_open || numbers.are_known();
    const auto number = [&](const char* key) {
        return plan.at(key).is_null() || !is_known ? 0 : numbers.integer(plan.at(key));
    };
    slot.index = static_cast<size_t>(plan.at("index").is_null() ? 0 : plan.at("index").integer());
    if (slot.kind == SlotPlan::Kind::kArena) {
        slot.storage = static_cast<size_t>(plan.at("storage").integer());
        TORCH_CHECK(slot.storage < document_.at("storages").list().size(), "a compiled graph has no storage ",
                    slot.storage);
        slot.offset = number("start");
    } else {
        slot.offset = number("offset");
    }
    if (slot.kind == SlotPlan::Kind::kView) {
        slot.base = slot_index(plan.at("base"));
    }
    if (!plan.at("sizes").is_null()) {
        slot.has_layout = true;
        slot.rank = plan.at("sizes").list().size();
        slot.type = scalar_type_named(plan.at("dtype").text());
        if (is_known) {
            slot.sizes = numbers.integers(plan.at("sizes"));
            slot.strides = numbers.integers(plan.at("strides"));
        }
        TORCH_CHECK(slot.sizes.size() == slot.strides.size(), "a compiled graph has a slot with ", slot.sizes.size(),
                    " sizes and ", slot.strides.size(), " strides");
        slot.extent = 1;
        for (size_t i = 0; i < slot.sizes.size(); ++i) {
            slot.extent =
                slot.sizes[i] == 0 || slot.extent == 0 ? 0 : slot.extent + (slot.sizes[i] - 1) * slot.strides[i];
        }
    }
    const Json& first = document_.at("first");
    const size_t computed = first.is_null() ? 0 : first.at("outputs").list().size();
    const bool is_there = slot.kind == SlotPlan::Kind::kInput      ? slot.index < input_count_
                          : slot.kind == SlotPlan::Kind::kConstant ? slot.index < constants_.size() + computed
                          : slot.kind == SlotPlan::Kind::kResult   ? true
                                                                   : slot.has_layout;
    TORCH_CHECK(is_there, "a compiled graph has a slot without a layout, or for an input that it lacks");
    return slot;
}

void Program::add_step(const Json& plan, Step& step) {
    step.node = plan.at("node").text();
    step.source = plan.at("source").is_null() ? "" : plan.at("source").text();
    if (!plan.at("kernel").is_null()) {
        add_fused(plan.at("kernel"), step);
        return;
    }
    step.name = plan.at("overload").text();
    const size_t dot = step.name.find('.');
    const std::string base = step.name.substr(0, dot);
    const std::string overload = dot == std::string::npos ? "" : step.name.substr(dot + 1);
    step.op = c10::Dispatcher::singleton().findSchemaOrThrow(
        (base.find("::") == std::string::npos ? "aten::" + base : base).c_str(), overload.c_str());
    const auto& arguments = step.op->schema().arguments();
    const std::vector<Json>& values = plan.at("arguments").list();
    TORCH_CHECK(values.size() == arguments.size(), step.name, " has ", arguments.size(), " arguments, and the plan ",
                values.size());
    for (size_t i = 0; i < arguments.size(); ++i) {
        step.arguments.push_back(argument_of(values[i], arguments[i]));
    }
    for (const Json& result : plan.at("results").list()) {
        ResultPlan& own = step.results.emplace_back();
        own.is_list = result.is_list();
        for (const Json& each : own.is_list ? result.list() : std::vector<Json>{result}) {
            own.slots.push_back(each.is_null() ? -1 : static_cast<int64_t>(slot_index(each)));
        }
    }
    std::string reason = plan.at("reason").is_null() ? "" : plan.at("reason").text();
    if (!plan.at("function").is_null()) {
        const std::string& name = plan.at("function").text();
        const CompiledFunction* const function = compiled_function(name);
        TORCH_CHECK(function != nullptr, "a compiled graph calls ", name, ", which compiled graphs cannot");
        if (function->function == nullptr) {
            reason = name + ": the chip has no such operator";
        } else {
            step.function = function->function;
            step.function_name = name;
            step.trampoline = function->trampoline;
            step.first_operand = operands_.size();
            add_operands(plan.at("operands"), *function);
            step.writes = plan.at("writes").is_null() ? -1 : static_cast<int64_t>(slot_index(plan.at("writes")));
        }
    }
    step.calls = compiled_calls_of(step.name, reason);
}

void Program::add_fused(const Json& plan, Step& step) {
    step.name = plan.at("name").text();
    step.fused = std::make_unique<FusedPlan>();
    FusedPlan& fused = *step.fused;
    fused.kernel = device_kernel(plan.at("source").text(), step.name);
    for (const Json& buffer : plan.at("buffers").list()) {
        fused.slots.push_back(static_cast<int64_t>(slot_index(buffer.at("slot"))));
    }
    if (!plan.at("writes").is_null()) {
        for (const Json& slot : plan.at("writes").list()) {
            fused.writes.push_back(slot_index(slot));
        }
    }
    fused.launch = launches_.size();
    launches_.push_back(&plan);
}

void Program::add_operands(const Json& operands, const CompiledFunction& function) {
    const std::vector<Json>& values = operands.list();
    TORCH_CHECK(values.size() == function.kinds.size(), function.name, " has ", function.kinds.size(),
                " parameters, and the plan ", values.size());
    for (size_t i = 0; i < values.size(); ++i) {
        operands_.push_back(operand_of(values[i], function.kinds[i]));
    }
}

OperandPlan Program::operand_of(const Json& value, char kind) {
    OperandPlan operand;
    operand.kind = kind;
    operand.value.sizes = {nullptr, 0};  // the largest member
    if (kind == 'o' || kind == 't') {
        operand.is_tensor = !value.is_null();
        if (operand.is_tensor) {
            operand.slots.push_back(static_cast<int64_t>(slot_index(value)));
        }
    } else if (kind == 'l') {
        operand.is_list = true;
        for (const Json& each : value.list()) {
            operand.slots.push_back(static_cast<int64_t>(slot_index(each)));
        }
    } else if (Numbers::is_open(value)) {
        operand.open = &value;
    } else {
        operand.value = values_.read(value, kind, Numbers(), device_);
    }
    return operand;
}

ArgumentPlan Program::argument_of(const Json& value, const c10::Argument& argument) const {
    ArgumentPlan plan;
    const c10::Type& type = *argument.type();
    const bool is_optional = type.kind() == c10::TypeKind::OptionalType;
    const c10::TypePtr inner = is_optional ? type.castRaw<c10::OptionalType>()->getElementType() : argument.type();
    if (value.is_null()) {
        if (type.kind() == c10::TypeKind::TensorType) {
            plan.value = at::Tensor();  // PyTorch passes None for tensors that are not there, optional or not
        }
        return plan;
    }
    if (inner->kind() == c10::TypeKind::TensorType && value.is_object() && !value.at("slot").is_null()) {
        plan.form = ArgumentPlan::Form::kTensor;
        plan.slots.push_back(static_cast<int64_t>(slot_index(value.at("slot"))));
        return plan;
    }
    const auto* const list = inner->castRaw<c10::ListType>();
    if (list != nullptr && is_tensor_type(*list->getElementType())) {
        const bool has_gaps = list->getElementType()->kind() == c10::TypeKind::OptionalType;
        plan.form = has_gaps ? ArgumentPlan::Form::kOptionalTensors : ArgumentPlan::Form::kTensors;
        for (const Json& each : value.list()) {
            plan.slots.push_back(each.is_null() ? -1 : static_cast<int64_t>(slot_index(each.at("slot"))));
        }
        return plan;
    }
    if (Numbers::is_open(value)) {
        plan.open = &value;
        plan.type = inner;
    } else {
        plan.value = argument_value(value, *inner, Numbers());
    }
    return plan;
}

int64_t Program::dispatched_count() const {
    return std::count_if(steps_.begin(), steps_.end(),
                         [](const Step& step) { return step.trampoline == nullptr && step.fused == nullptr; });
}

int64_t Program::fused_count() const {
    return std::count_if(steps_.begin(), steps_.end(), [](const Step& step) { return step.fused != nullptr; });
}

// A slot is prepared for the first step that uses it, or a view of it, and released after the last one. Outputs stay.
void Program::plan_lifetimes() {
    constexpr size_t kNever = std::numeric_limits<size_t>::max();
    const size_t end = steps_.size();
    std::vector<size_t> first(slots_.size(), kNever), last(slots_.size(), 0);
    const auto use = [&](int64_t slot, size_t step) {
        for (auto at = static_cast<size_t>(slot); slot >= 0; at = slots_[at].base) {
            first[at] = std::min(first[at], step);
            last[at] = std::max(last[at], step);
            if (slots_[at].kind != SlotPlan::Kind::kView) {
                break;
            }
        }
    };
    for (size_t i = 0; i < end; ++i) {
        const Step& step = steps_[i];
        for (const ArgumentPlan& argument : step.arguments) {
            std::for_each(argument.slots.begin(), argument.slots.end(), [&](int64_t slot) { use(slot, i); });
        }
        for (const ResultPlan& result : step.results) {
            std::for_each(result.slots.begin(), result.slots.end(), [&](int64_t slot) { use(slot, i); });
        }
        if (step.fused != nullptr) {
            std::for_each(step.fused->slots.begin(), step.fused->slots.end(), [&](int64_t slot) { use(slot, i); });
        }
    }
    for (size_t i = 0; i < end; ++i) {
        if (steps_[i].trampoline == nullptr) {
            continue;
        }
        size_t behind = operands_.size();
        for (size_t j = i + 1; j < end; ++j) {
            if (steps_[j].trampoline != nullptr) {
                behind = steps_[j].first_operand;
                break;
            }
        }
        for (size_t k = steps_[i].first_operand; k < behind; ++k) {
            const OperandPlan& operand = operands_[k];
            std::for_each(operand.slots.begin(), operand.slots.end(), [&](int64_t slot) { use(slot, i); });
        }
    }
    for (const size_t output : outputs_) {
        use(static_cast<int64_t>(output), end);
    }
    for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
        const SlotPlan::Kind kind = slots_[slot].kind;
        if (first[slot] == kNever || kind == SlotPlan::Kind::kArena || kind == SlotPlan::Kind::kConstant) {
            continue;
        }
        if (kind != SlotPlan::Kind::kResult) {
            (first[slot] == end ? prepared_last_ : steps_[first[slot]].prepared).push_back(slot);
        }
        if (last[slot] < end) {
            steps_[last[slot]].released.push_back(slot);
        }
    }
    // A view is made after what it looks at.
    const auto depth = [&](uint32_t slot) {
        int deep = 0;
        for (size_t at = slot; slots_[at].kind == SlotPlan::Kind::kView; at = slots_[at].base) {
            ++deep;
        }
        return deep;
    };
    const auto sort = [&](std::vector<uint32_t>& list) {
        std::stable_sort(list.begin(), list.end(), [&](uint32_t a, uint32_t b) { return depth(a) < depth(b); });
    };
    for (Step& step : steps_) {
        sort(step.prepared);
    }
    sort(prepared_last_);
    for (uint32_t slot = 0; slot < slots_.size(); ++slot) {
        const SlotPlan::Kind kind = slots_[slot].kind;
        if (first[slot] == kNever) {
            continue;
        }
        if (kind == SlotPlan::Kind::kView) {
            views_.push_back(slot);
        } else if (kind == SlotPlan::Kind::kInput || kind == SlotPlan::Kind::kFresh) {
            roots_.push_back(slot);
        } else if (kind == SlotPlan::Kind::kConstant) {
            constant_slots_.push_back(slot);
        }
    }
    sort(views_);
}

}  // namespace diopigen::backend
