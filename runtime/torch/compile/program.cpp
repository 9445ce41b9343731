// From a plan to a program: everything that a run does not have to look up again.
#include <ATen/ScalarOps.h>
#include <diopigen_torch/call.h>
#include <diopigen_torch/device.h>
#include <diopigen_torch/generator.h>
#include <diopigen_torch/tape.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace diopigen::backend {

namespace {

constexpr int64_t kVersion = 1;

at::ScalarType scalarTypeNamed(const std::string& name) {
    static const std::map<std::string, at::ScalarType> types = {{"int8", at::kChar},
                                                                {"uint8", at::kByte},
                                                                {"int16", at::kShort},
                                                                {"uint16", at::kUInt16},
                                                                {"int32", at::kInt},
                                                                {"uint32", at::kUInt32},
                                                                {"int64", at::kLong},
                                                                {"uint64", at::kUInt64},
                                                                {"float16", at::kHalf},
                                                                {"float32", at::kFloat},
                                                                {"float64", at::kDouble},
                                                                {"bool", at::kBool},
                                                                {"bfloat16", at::kBFloat16},
                                                                {"complex32", at::kComplexHalf},
                                                                {"complex64", at::kComplexFloat},
                                                                {"complex128", at::kComplexDouble}};
    const auto found = types.find(name);
    TORCH_CHECK(found != types.end(), "a compiled graph has the dtype '", name, "', which plans do not know");
    return found->second;
}

c10::Scalar scalarOf(const Json& value) {
    if (value.kind() == Json::Kind::boolean) {
        return {value.boolean()};
    }
    return value.isInteger() ? c10::Scalar(value.integer()) : c10::Scalar(value.real());
}

// A value that is no tensor, as the dispatcher takes it.
c10::IValue valueOf(const Json& value, const c10::Type& type) {
    if (value.isNull()) {
        return {};
    }
    if (value.isObject()) {
        if (const Json& dtype = value.at("dtype"); !dtype.isNull()) {
            return static_cast<int64_t>(scalarTypeNamed(dtype.text()));
        }
        return c10::Device(value.at("device").text());
    }
    switch (type.kind()) {
        case c10::TypeKind::OptionalType:
            return valueOf(value, *type.castRaw<c10::OptionalType>()->getElementType());
        case c10::TypeKind::FloatType:
            return value.real();
        case c10::TypeKind::NumberType:
            return scalarOf(value);
        case c10::TypeKind::ListType: {
            const c10::TypePtr element = type.castRaw<c10::ListType>()->getElementType();
            c10::impl::GenericList list(element);
            for (const Json& each : value.list()) {
                list.push_back(valueOf(each, *element));
            }
            return list;
        }
        default:
            break;
    }
    switch (value.kind()) {
        case Json::Kind::boolean:
            return value.boolean();
        case Json::Kind::integer:
            return value.integer();
        case Json::Kind::real:
            return value.real();
        default:
            return value.text();
    }
}

bool isTensorType(const c10::Type& type) {
    if (type.kind() == c10::TypeKind::OptionalType) {
        return isTensorType(*type.castRaw<c10::OptionalType>()->getElementType());
    }
    return type.kind() == c10::TypeKind::TensorType;
}

}  // namespace

Program::Program(const Json& plan, std::vector<at::Tensor> constants) : constants_(std::move(constants)) {
    TORCH_CHECK(plan.at("version").integer() == kVersion, "a compiled graph of version ", plan.at("version").integer(),
                "; this library reads ", kVersion);
    device_ = static_cast<c10::DeviceIndex>(plan.at("device").integer());
    input_count_ = static_cast<size_t>(plan.at("inputs").integer());
    arena_bytes_ = plan.at("arena").integer();
    for (const Json& slot : plan.at("slots").list()) {
        addSlot(slot);
    }
    for (const Json& step : plan.at("steps").list()) {
        addStep(step, steps_.emplace_back());
    }
    for (const Json& output : plan.at("outputs").list()) {
        outputs_.push_back(slotIndex(output));
    }
    planLifetimes();
}

size_t Program::slotIndex(const Json& value) const {
    const int64_t slot = value.integer();
    TORCH_CHECK(slot >= 0 && slot < static_cast<int64_t>(slots_.size()), "a compiled graph has no slot ", slot);
    return static_cast<size_t>(slot);
}

void Program::addSlot(const Json& plan) {
    static const std::map<std::string, SlotPlan::Kind> kinds = {
        {"input", SlotPlan::Kind::input}, {"constant", SlotPlan::Kind::constant}, {"arena", SlotPlan::Kind::arena},
        {"fresh", SlotPlan::Kind::fresh}, {"view", SlotPlan::Kind::view},         {"result", SlotPlan::Kind::result}};
    const auto found = kinds.find(plan.at("kind").text());
    TORCH_CHECK(found != kinds.end(), "a compiled graph has a slot of the kind '", plan.at("kind").text(), "'");
    SlotPlan slot;
    slot.kind = found->second;
    const auto number = [&](const char* key) { return plan.at(key).isNull() ? 0 : plan.at(key).integer(); };
    slot.index = static_cast<size_t>(number("index"));
    slot.offset = number("offset");
    if (slot.kind == SlotPlan::Kind::view) {
        slot.base = slotIndex(plan.at("base"));
    }
    if (!plan.at("sizes").isNull()) {
        slot.has_layout = true;
        slot.type = scalarTypeNamed(plan.at("dtype").text());
        slot.sizes = plan.at("sizes").integers();
        slot.strides = plan.at("strides").integers();
        TORCH_CHECK(slot.sizes.size() == slot.strides.size(), "a compiled graph has a slot with ", slot.sizes.size(),
                    " sizes and ", slot.strides.size(), " strides");
        slot.extent = 1;
        for (size_t i = 0; i < slot.sizes.size(); ++i) {
            slot.extent =
                slot.sizes[i] == 0 || slot.extent == 0 ? 0 : slot.extent + (slot.sizes[i] - 1) * slot.strides[i];
        }
    }
    const bool is_known = slot.kind == SlotPlan::Kind::input      ? slot.index < input_count_
                          : slot.kind == SlotPlan::Kind::constant ? slot.index < constants_.size()
                          : slot.kind == SlotPlan::Kind::result   ? true
                                                                  : slot.has_layout;
    TORCH_CHECK(is_known, "a compiled graph has a slot without a layout, or for an input that it lacks");
    slots_.push_back(std::move(slot));
}

void Program::addStep(const Json& plan, Step& step) {
    step.node = plan.at("node").text();
    step.source = plan.at("source").isNull() ? "" : plan.at("source").text();
    if (!plan.at("kernel").isNull()) {
        addFused(plan.at("kernel"), step);
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
        step.arguments.push_back(argumentOf(values[i], arguments[i]));
    }
    for (const Json& result : plan.at("results").list()) {
        ResultPlan& own = step.results.emplace_back();
        own.is_list = result.isList();
        for (const Json& each : own.is_list ? result.list() : std::vector<Json>{result}) {
            own.slots.push_back(each.isNull() ? -1 : static_cast<int64_t>(slotIndex(each)));
        }
    }
    std::string reason = plan.at("reason").isNull() ? "" : plan.at("reason").text();
    if (!plan.at("function").isNull()) {
        const std::string& name = plan.at("function").text();
        const CompiledFunction* const function = compiledFunction(name);
        TORCH_CHECK(function != nullptr, "a compiled graph calls ", name, ", which compiled graphs cannot");
        if (function->function == nullptr) {
            reason = name + ": the chip has no such operator";
        } else {
            step.function = function->function;
            step.function_name = name;
            step.trampoline = function->trampoline;
            step.first_operand = operands_.size();
            addOperands(plan.at("operands"), *function);
            step.writes = plan.at("writes").isNull() ? -1 : static_cast<int64_t>(slotIndex(plan.at("writes")));
        }
    }
    step.calls = compiledCallsOf(step.name, reason);
}

void Program::addFused(const Json& plan, Step& step) const {
    step.name = plan.at("name").text();
    step.fused = std::make_unique<FusedPlan>();
    FusedPlan& fused = *step.fused;
    fused.kernel = deviceKernel(plan.at("source").text(), step.name);
    for (const Json& buffer : plan.at("buffers").list()) {
        fused.slots.push_back(static_cast<int64_t>(slotIndex(buffer.at("slot"))));
        fused.buffers.push_back(
            {nullptr, static_cast<uint64_t>(buffer.at("bytes").integer()), buffer.at("written").boolean()});
    }
    fused.numbers = plan.at("numbers").integers();
    if (!plan.at("writes").isNull()) {
        for (const Json& slot : plan.at("writes").list()) {
            fused.writes.push_back(slotIndex(slot));
        }
    }
    fused.items = plan.at("items").integer();
    fused.grain = plan.at("grain").integer();
}

void Program::addOperands(const Json& operands, const CompiledFunction& function) {
    const std::vector<Json>& values = operands.list();
    TORCH_CHECK(values.size() == function.kinds.size(), function.name, " has ", function.kinds.size(),
                " parameters, and the plan ", values.size());
    for (size_t i = 0; i < values.size(); ++i) {
        operands_.push_back(operandOf(values[i], function.kinds[i]));
    }
}

OperandPlan Program::operandOf(const Json& value, char kind) {
    OperandPlan operand;
    operand.value.sizes = {nullptr, 0};  // the largest member: what is not set below is null
    const bool is_missing = value.isNull();
    switch (kind) {
        case 'o':
        case 't':
            operand.is_tensor = !is_missing;
            if (!is_missing) {
                operand.slots.push_back(static_cast<int64_t>(slotIndex(value)));
            }
            break;
        case 'l':
            operand.is_list = true;
            for (const Json& each : value.list()) {
                operand.slots.push_back(static_cast<int64_t>(slotIndex(each)));
            }
            break;
        case 's':
            if (!is_missing) {
                diopiScalar_t& scalar = scalars_.emplace_back();
                const bool is_boolean = value.kind() == Json::Kind::boolean;
                if (is_boolean || value.isInteger()) {
                    scalar.stype = is_boolean ? diopi_dtype_bool : diopi_dtype_int64;
                    scalar.ival = is_boolean ? static_cast<int64_t>(value.boolean()) : value.integer();
                } else {
                    scalar.stype = diopi_dtype_float64;
                    scalar.fval = value.real();
                }
                operand.value.pointer = &scalar;
            }
            break;
        case 'z':
            if (!is_missing) {
                const std::vector<int64_t>& sizes = sizes_.emplace_back(value.integers());
                operand.value.sizes = {sizes.data(), static_cast<int64_t>(sizes.size())};
            }
            break;
        case 'Z':
            if (!is_missing) {
                const std::vector<int64_t>& sizes = sizes_.emplace_back(value.integers());
                operand.value.pointer =
                    &size_pointers_.emplace_back(diopiSize_t{sizes.data(), static_cast<int64_t>(sizes.size())});
            }
            break;
        case 'g':
            operand.value.pointer = generatorHandle(std::nullopt, device_);
            break;
        case 'r':
            operand.value.integer = static_cast<int64_t>(roundMode(
                is_missing ? std::optional<std::string_view>() : std::optional<std::string_view>(value.text())));
            break;
        case 'c':
            operand.value.pointer = is_missing ? nullptr : texts_.emplace_back(value.text()).c_str();
            break;
        case 'I':
            operand.value.pointer = is_missing ? nullptr : &integers_.emplace_back(value.integer());
            break;
        case 'D':
            operand.value.pointer = is_missing ? nullptr : &reals_.emplace_back(value.real());
            break;
        case 'B':
            operand.value.pointer = is_missing ? nullptr : &booleans_.emplace_back(value.boolean());
            break;
        case 'd':
            operand.value.real = value.real();
            break;
        default:
            operand.value.integer =
                value.kind() == Json::Kind::boolean ? static_cast<int64_t>(value.boolean()) : value.integer();
    }
    return operand;
}

ArgumentPlan Program::argumentOf(const Json& value, const c10::Argument& argument) const {
    ArgumentPlan plan;
    const c10::Type& type = *argument.type();
    const bool is_optional = type.kind() == c10::TypeKind::OptionalType;
    const c10::TypePtr inner = is_optional ? type.castRaw<c10::OptionalType>()->getElementType() : argument.type();
    if (value.isNull()) {
        if (type.kind() == c10::TypeKind::TensorType) {
            plan.value = at::Tensor();  // PyTorch passes None for tensors that are not there, optional or not
        }
        return plan;
    }
    if (inner->kind() == c10::TypeKind::TensorType) {
        if (value.isObject()) {
            plan.form = ArgumentPlan::Form::tensor;
            plan.slots.push_back(static_cast<int64_t>(slotIndex(value.at("slot"))));
        } else {
            at::Tensor number = at::scalar_tensor(
                scalarOf(value), at::TensorOptions(at::kCPU).dtype(value.kind() == Json::Kind::boolean ? at::kBool
                                                                   : value.isInteger()                 ? at::kLong
                                                                                                       : at::kDouble));
            number.unsafeGetTensorImpl()->set_wrapped_number(true);
            plan.value = number;
        }
        return plan;
    }
    const auto* const list = inner->castRaw<c10::ListType>();
    if (list != nullptr && isTensorType(*list->getElementType())) {
        const bool has_gaps = list->getElementType()->kind() == c10::TypeKind::OptionalType;
        plan.form = has_gaps ? ArgumentPlan::Form::optional_tensors : ArgumentPlan::Form::tensors;
        for (const Json& each : value.list()) {
            plan.slots.push_back(each.isNull() ? -1 : static_cast<int64_t>(slotIndex(each.at("slot"))));
        }
        return plan;
    }
    plan.value = valueOf(value, *inner);
    return plan;
}

int64_t Program::dispatchedCount() const {
    return std::count_if(steps_.begin(), steps_.end(),
                         [](const Step& step) { return step.trampoline == nullptr && step.fused == nullptr; });
}

int64_t Program::fusedCount() const {
    return std::count_if(steps_.begin(), steps_.end(), [](const Step& step) { return step.fused != nullptr; });
}

// A slot is prepared for the first step that uses it, or a view of it, and released after the last one. Outputs stay.
void Program::planLifetimes() {
    constexpr size_t kNever = std::numeric_limits<size_t>::max();
    const size_t end = steps_.size();
    std::vector<size_t> first(slots_.size(), kNever), last(slots_.size(), 0);
    const auto use = [&](int64_t slot, size_t step) {
        for (auto at = static_cast<size_t>(slot); slot >= 0; at = slots_[at].base) {
            first[at] = std::min(first[at], step);
            last[at] = std::max(last[at], step);
            if (slots_[at].kind != SlotPlan::Kind::view) {
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
        if (first[slot] == kNever || kind == SlotPlan::Kind::arena || kind == SlotPlan::Kind::constant) {
            continue;
        }
        if (kind != SlotPlan::Kind::result) {
            (first[slot] == end ? prepared_last_ : steps_[first[slot]].prepared).push_back(slot);
        }
        if (last[slot] < end) {
            steps_[last[slot]].released.push_back(slot);
        }
    }
    // A view is made after what it looks at.
    const auto depth = [&](uint32_t slot) {
        int deep = 0;
        for (size_t at = slot; slots_[at].kind == SlotPlan::Kind::view; at = slots_[at].base) {
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
}

}  // namespace diopigen::backend
