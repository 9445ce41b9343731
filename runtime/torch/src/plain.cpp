// Calls whose tensors the interface cannot express as they are, and calls that a function rejects.
#include <ATen/core/stack.h>
#include <ATen/ops/zeros.h>
#include <diopigen_torch/fallback.h>
#include <diopigen_torch/kernel.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "comparison.h"
#include "handlers.h"

namespace diopigen::backend {

namespace {

thread_local Failed last_failure{""};

// Libraries and the iterators of PyTorch take no more. Its other kernels do.
constexpr int64_t kMostDimensions = 64;

at::Tensor plain(const at::Tensor& tensor) {
    if (is_plain(tensor)) {
        return tensor;
    }
    return tensor._is_zerotensor() ? at::zeros(tensor.sizes(), tensor.options()) : tensor.resolve_conj().resolve_neg();
}

std::optional<at::Tensor> plain(const std::optional<at::Tensor>& tensor) {
    return tensor.has_value() ? plain(*tensor) : tensor;
}

template <typename Element>
c10::IValue plain_list(const std::vector<Element>& tensors) {
    c10::List<Element> list;
    for (const Element& tensor : tensors) {
        list.push_back(plain(tensor));
    }
    return list;
}

// An argument that is written, and the tensor that the kernel writes for it.
struct Written {
    at::Tensor original;
    at::Tensor copy;
};

void copy_back(const Written& written) {
    if (written.original.sizes() != written.copy.sizes()) {
        written.original.resize_(written.copy.sizes());
    }
    written.original.copy_(written.copy);
}

// Returns whether the CPU's kernel checks elements, which it raises an IndexError or a LinAlgError for.
bool checks_elements(std::string_view name) {
    name.remove_prefix(name.find("::") + 2);
    constexpr std::array<std::string_view, 10> kBeginnings{
        "index",    "_index",           "_unsafe_index",     "take", "put", "linalg_", "_linalg_",
        "cholesky", "nll_loss_forward", "nll_loss2d_forward"};
    return std::any_of(kBeginnings.begin(), kBeginnings.end(),
                       [&](std::string_view beginning) { return name.substr(0, beginning.size()) == beginning; });
}

}  // namespace

bool writes_elements_twice(const at::Tensor& tensor) {
    if (tensor.layout() != at::kStrided) {
        return false;
    }
    if (const at::MemOverlap overlap = at::has_internal_overlap(tensor); overlap != at::MemOverlap::TooHard) {
        return overlap == at::MemOverlap::Yes;
    }
    // From the smallest stride on: each dimension has to step over all that the ones before it reach.
    std::vector<std::pair<int64_t, int64_t>> dimensions;
    for (int64_t i = 0; i < tensor.dim(); ++i) {
        if (tensor.size(i) == 0) {
            return false;
        }
        if (tensor.size(i) > 1) {
            dimensions.emplace_back(tensor.stride(i), tensor.size(i));
        }
    }
    std::sort(dimensions.begin(), dimensions.end());
    int64_t reach = 0;
    for (const auto& [stride, size] : dimensions) {
        if (stride <= reach) {
            return true;
        }
        reach += stride * (size - 1);
    }
    return false;
}

bool is_plain(at::TensorList tensors) {
    return std::all_of(tensors.begin(), tensors.end(), [](const at::Tensor& tensor) { return is_plain(tensor); });
}

bool is_plain(const at::ITensorListRef& tensors) {
    return std::all_of(tensors.begin(), tensors.end(), [](const at::Tensor& tensor) { return is_plain(tensor); });
}

bool is_plain(const c10::List<std::optional<at::Tensor>>& tensors) {
    for (const std::optional<at::Tensor>& tensor : tensors) {
        if (!is_plain(tensor)) {
            return false;
        }
    }
    return true;
}

void call_plain(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    const auto& arguments = op.schema().arguments();
    const size_t first = stack->size() - arguments.size();
    const auto is_written = [&](size_t i) {
        const auto* const alias = arguments[i].alias_info();
        return alias != nullptr && alias->isWrite() && (*stack)[first + i].isTensor();
    };
    for (size_t i = 0; i < arguments.size(); ++i) {
        if (is_written(i) && writes_elements_twice((*stack)[first + i].toTensor())) {
            fall_back_in_place(op, stack);
            return;
        }
    }
    std::vector<Written> written;
    for (size_t i = 0; i < arguments.size(); ++i) {
        c10::IValue& value = (*stack)[first + i];
        if (is_written(i)) {
            at::Tensor original = value.toTensor();
            if (!is_plain(original)) {
                written.push_back({original, plain(original).clone(at::MemoryFormat::Contiguous)});
                value = written.back().copy;
            }
        } else if (value.isTensor()) {
            value = plain(value.toTensor());
        } else if (value.isTensorList()) {
            value = plain_list(value.toTensorVector());
        } else if (value.isOptionalTensorList()) {
            value = plain_list(value.toOptionalTensorVector());
        }
    }
    op.callBoxedForDispatchKey(c10::DispatchKey::PrivateUse1, *stack);
    for (const Written& one : written) {
        copy_back(one);
        for (c10::IValue& value : *stack) {
            if (value.isTensor() && value.toTensor().is_same(one.copy)) {
                value = one.original;
            }
        }
    }
}

void note_failure(const Failed& failure) { last_failure = failure; }

void raise_failure(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    const size_t arguments = op.schema().arguments().size();
    for (const c10::IValue& value : torch::jit::last(*stack, arguments)) {
        if (value.isTensor() && value.toTensor().defined() && value.toTensor().dim() > kMostDimensions) {
            note_reason(c10::str("tensors of more than ", kMostDimensions, " dimensions"));
            return fall_back(op, stack);
        }
    }
    const std::string text = c10::toString(op.operator_name()) + ": " + last_failure.what();
    // Of other calls kernels of the CPU may end the process: they trust operands that functions of the interface check.
    TORCH_CHECK(last_failure.is_of_dtype() || checks_elements(op.operator_name().name), text);
    const auto first = stack->end() - static_cast<std::ptrdiff_t>(arguments);
    try {
        torch::jit::Stack on_cpu = copied({first, stack->end()});
        run_on_cpu(op, &on_cpu);
    } catch (const c10::Error& error) {
        if (typeid(error) != typeid(c10::Error)) {  // Python has a class for it: IndexError, NotImplementedError
            throw;
        }
    } catch (const std::exception&) {  // the function's own text says which check failed
    }
    TORCH_CHECK(false, text);
}

}  // namespace diopigen::backend
