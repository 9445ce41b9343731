// Operators that run on the CPU: through copies, counted by name.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/native/CPUFallback.h>
#include <diopigen_torch/capture.h>
#include <diopigen_torch/fallback.h>
#include <diopigen_torch/kernel.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "comparison.h"
#include "devices.h"
#include "handlers.h"

namespace diopigen::backend {

namespace {

struct Counts {
    std::mutex mutex;
    // By overload and reason.
    std::map<std::string, std::map<std::string, Fallback>> fallbacks;
};

Counts& counts() {
    static auto* const result = new Counts;
    return *result;
}

thread_local std::string next_reason;
thread_local std::string last_reason;
thread_local Left last_left;

// A reason with the dtypes of the call's tensors.
std::string with_dtypes(const std::string& text, const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
    std::string dtypes;
    const auto add = [&](const at::Tensor& tensor) {
        if (tensor.defined()) {
            dtypes += (dtypes.empty() ? "" : ", ") + std::string(c10::toString(tensor.scalar_type()));
        }
    };
    for (size_t i = stack.size() - op.schema().arguments().size(); i < stack.size(); ++i) {
        if (stack[i].isTensor()) {
            add(stack[i].toTensor());
        } else if (stack[i].isTensorList() && !stack[i].toTensorVector().empty()) {
            add(stack[i].toTensorVector().front());
        }
    }
    return dtypes.empty() ? text : text + " (" + dtypes + ")";
}

// A generator of the CPU that starts where the device's one is; the device's one moves on, so that the next call draws
// other numbers.
at::Generator on_cpu(const at::Generator& generator) {
    c10::GeneratorImpl* const own = generator.unsafeGetGeneratorImpl();
    const std::lock_guard<std::mutex> lock(own->mutex_);
    const uint64_t offset = own->get_offset();
    // The golden ratio keeps the sequences of neighbouring offsets apart.
    at::Generator result = at::detail::createCPUGenerator(own->current_seed() ^ (offset * 0x9E3779B97F4A7C15ULL));
    own->set_offset(offset + 4);
    return result;
}

// Generators of the device cannot be used by kernels of the CPU.
void translate_generators(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    const auto& arguments = op.schema().arguments();
    const size_t first = stack->size() - arguments.size();
    for (size_t i = 0; i < arguments.size(); ++i) {
        c10::IValue& value = (*stack)[first + i];
        const auto type = arguments[i].type();
        const bool is_generator =
            type->kind() == c10::TypeKind::GeneratorType ||
            (type->kind() == c10::TypeKind::OptionalType &&
             type->castRaw<c10::OptionalType>()->getElementType()->kind() == c10::TypeKind::GeneratorType);
        if (!is_generator) {
            continue;
        }
        if (value.isNone()) {
            value = on_cpu(default_generator(current_device()));
        } else if (value.toGenerator().device().type() == kDeviceType) {
            value = on_cpu(value.toGenerator());
        }
    }
}

c10::OperatorHandle cpu_operator(const char* name) { return c10::Dispatcher::singleton().findSchemaOrThrow(name, ""); }

// convolution_backward takes the sizes of the bias after the weight.
void insert_bias_sizes(torch::jit::Stack* stack) {
    constexpr size_t kArguments = 10;
    constexpr std::ptrdiff_t kWeight = 2;
    constexpr std::ptrdiff_t kTransposed = 6;
    constexpr std::ptrdiff_t kGroups = 8;
    const auto first = stack->end() - static_cast<std::ptrdiff_t>(kArguments);
    const at::Tensor weight = first[kWeight].toTensor();
    const int64_t channels = first[kTransposed].toBool() ? weight.size(1) * first[kGroups].toInt() : weight.size(0);
    stack->insert(first + kWeight + 1, c10::IValue(std::vector<int64_t>{channels}));
}

void fall_back_boxed(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
    if (C10_UNLIKELY(is_watched.load(std::memory_order_relaxed)) && !std::exchange(is_inside, false)) {
        watch(op, stack);
        return;
    }
    fall_back(op, stack);
}

// Factorizations of a contiguous matrix factor its transpose instead, and the formula of the gradient asks the same
// matrix once more: its copy must not become contiguous if it is not.
void keep_contiguity(const std::string& name, torch::jit::Stack* stack, size_t count) {
    if (name != "aten::_linalg_det" && name != "aten::_linalg_slogdet" && name != "aten::_linalg_solve_ex") {
        return;
    }
    c10::IValue& matrix = (*stack)[stack->size() - count];
    const at::Tensor tensor = matrix.toTensor();
    if (tensor.dim() >= 2 && !tensor.is_contiguous()) {
        matrix = tensor.mT().contiguous().mT();
    }
}

// Operators to which PyTorch lets a caller give tensors of the CPU next to those of a device: sources and targets of
// copies, indices, and lengths that the host reads.
constexpr std::array<std::string_view, 14> kMixed{"aten::_copy_from",
                                                  "aten::_copy_from_and_resize",
                                                  "aten::_ctc_loss",
                                                  "aten::_ctc_loss_backward",
                                                  "aten::_index_put_impl_",
                                                  "aten::_pack_padded_sequence",
                                                  "aten::_pack_padded_sequence_backward",
                                                  "aten::_to_copy",
                                                  "aten::_unsafe_index",
                                                  "aten::_unsafe_index_put",
                                                  "aten::copy_",
                                                  "aten::index",
                                                  "aten::index_put",
                                                  "aten::index_put_"};

// Copies would hide that a caller mixes devices.
void require_one_device(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
    const std::string& name = op.operator_name().name;
    if (std::find(kMixed.begin(), kMixed.end(), name) != kMixed.end()) {
        return;
    }
    std::optional<c10::Device> first;
    const auto look = [&](const at::Tensor& tensor) {
        if (!tensor.defined() || (tensor.is_cpu() && tensor.dim() == 0)) {
            return;
        }
        if (first.has_value() && tensor.device() != *first) {
            reject_devices(*first, tensor.device(), " (when checking the arguments of " + overload_name(op) + ")");
        }
        first = tensor.device();
    };
    for (size_t i = stack.size() - op.schema().arguments().size(); i < stack.size(); ++i) {
        const c10::IValue& value = stack[i];
        if (value.isTensor()) {
            look(value.toTensor());
        } else if (value.isTensorList()) {
            for (const at::Tensor& tensor : value.toTensorVector()) {
                look(tensor);
            }
        } else if (value.isOptionalTensorList()) {
            for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
                look(tensor.value_or(at::Tensor()));
            }
        }
    }
}

// A tensor that a call writes, and its memory on the CPU in the same layout.
struct Staged {
    at::Tensor original;
    at::Tensor memory;
    at::Tensor host_memory;
    at::Tensor on_host;

    explicit Staged(at::Tensor tensor) : original(std::move(tensor)) {
        int64_t extent = original.numel() == 0 ? 0 : 1;
        for (int64_t i = 0; i < original.dim() && extent > 0; ++i) {
            extent += original.stride(i) * (original.size(i) - 1);
        }
        memory = original.as_strided({extent}, {1}, original.storage_offset());
        host_memory = memory.to(at::kCPU);
        on_host = host_memory.as_strided(original.sizes(), original.strides(), 0);
    }

    void copy_back() {
        if (on_host.sizes() == original.sizes()) {
            memory.copy_(host_memory);
            return;
        }
        original.resize_(on_host.sizes());
        original.copy_(on_host);
    }
};

// Programs that run for days with ever other arguments must not fill the memory.
constexpr size_t kMostReasons = 64;

// Counts a fallback; returns its reason. Throws where the calling thread's stream is being captured.
std::string count(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
    const std::string noted = std::exchange(next_reason, {});
    const Left left = noted.empty() ? Left{} : std::exchange(last_left, {});
    std::string reason = with_dtypes(noted.empty() ? "no function of the interface serves it" : noted, op, stack);
    const std::string overload = overload_name(op);
    if (is_capturing(current_device())) {
        reject_in_capture(overload + ", which runs on the CPU: " + reason);
    }
    const std::lock_guard<std::mutex> lock(counts().mutex);
    std::map<std::string, Fallback>& reasons = counts().fallbacks[overload];
    const bool is_other = reasons.size() >= kMostReasons && reasons.count(reason) == 0;
    const std::string key = is_other ? "other reasons" : reason;
    Fallback& entry = reasons.try_emplace(key, Fallback{overload, key, is_other ? Left{} : left}).first->second;
    ++entry.calls;
    return reason;
}

}  // namespace

void note_reason(std::string reason) { next_reason = std::move(reason); }

void note_left(Left left) { last_left = std::move(left); }

std::string take_reason() { return std::exchange(last_reason, {}); }

std::string overload_name(const c10::OperatorHandle& op) {
    std::string name = op.operator_name().name;
    name = name.substr(name.find("::") + 2);
    return op.operator_name().overload_name.empty() ? name : name + "." + op.operator_name().overload_name;
}

void run_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    const std::string& name = op.operator_name().name;
    if (name == "aten::convolution_overrideable") {
        // Made for devices: the CPU has the same under another name.
        cpu_operator("aten::convolution").callBoxed(*stack);
    } else if (name == "aten::convolution_backward_overrideable") {
        insert_bias_sizes(stack);
        cpu_operator("aten::convolution_backward").callBoxed(*stack);
    } else {
        op.callBoxed(*stack);
    }
}

void fall_back(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    require_one_device(op, *stack);
    std::string reason = count(op, *stack);
    translate_generators(op, stack);
    const std::string& name = op.operator_name().name;
    keep_contiguity(name, stack, op.schema().arguments().size());
    if (name == "aten::convolution_overrideable") {
        at::native::cpu_fallback(cpu_operator("aten::convolution"), stack, /*error_on_views=*/true);
    } else if (name == "aten::convolution_backward_overrideable") {
        insert_bias_sizes(stack);
        at::native::cpu_fallback(cpu_operator("aten::convolution_backward"), stack, /*error_on_views=*/true);
    } else {
        at::native::cpu_fallback(op, stack, /*error_on_views=*/true);
    }
    last_reason = std::move(reason);  // the copies before have theirs
}

void fall_back_in_place(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    require_one_device(op, *stack);
    note_reason("several indices of a tensor that is written are one element");
    std::string reason = count(op, *stack);
    translate_generators(op, stack);
    const auto& arguments = op.schema().arguments();
    const size_t first = stack->size() - arguments.size();
    std::vector<Staged> staged;
    for (size_t i = 0; i < arguments.size(); ++i) {
        c10::IValue& value = (*stack)[first + i];
        const auto* const alias = arguments[i].alias_info();
        if (value.isTensor() && alias != nullptr && alias->isWrite() && value.toTensor().defined()) {
            value = staged.emplace_back(value.toTensor()).on_host;
        } else {
            value = copied({value}).front();
        }
    }
    run_on_cpu(op, stack);
    for (Staged& one : staged) {
        one.copy_back();
        for (c10::IValue& value : *stack) {
            if (value.isTensor() && value.toTensor().is_same(one.on_host)) {
                value = one.original;
            }
        }
    }
    last_reason = std::move(reason);
}

std::vector<Fallback> fallbacks() {
    const std::lock_guard<std::mutex> lock(counts().mutex);
    std::vector<Fallback> found;
    for (const auto& [overload, reasons] : counts().fallbacks) {
        for (const auto& [reason, fallback] : reasons) {
            found.push_back(fallback);
        }
    }
    return found;
}

void reset_fallbacks() {
    const std::lock_guard<std::mutex> lock(counts().mutex);
    counts().fallbacks.clear();
}

// Operators with a kernel of PyTorch's for all devices that fails on this one: the meta function of the first two takes
// each output's device from another input, the window calls a stub that devices of other repositories do not have, and
// the range and the Sobol sequences use the memory of any device as the host's.
TORCH_LIBRARY_IMPL(aten, PrivateUse1, library) {
    for (const char* const name : {"_linalg_solve_ex", "lu_unpack", "kaiser_window", "kaiser_window.periodic",
                                   "kaiser_window.beta", "range.out_", "_sobol_engine_draw", "_sobol_engine_ff_",
                                   "_sobol_engine_scramble_", "_sobol_engine_initialize_state_"}) {
        library.impl(name, torch::CppFunction::makeFromBoxedFunction<&fall_back_boxed>());
    }
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, library) {
    library.fallback(torch::CppFunction::makeFromBoxedFunction<&fall_back_boxed>());
}

}  // namespace diopigen::backend
