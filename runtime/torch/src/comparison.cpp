#include "comparison.h"

#include <ATen/TensorOperators.h>
#include <diopigen/tolerance.h>
#include <diopigen_torch/dtypes.h>
#include <diopigen_torch/fallback.h>
#include <diopigen_torch/kernel.h>
#include <diopigen_torch/switches.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <type_traits>

#include "words.h"

namespace diopigen::backend {

namespace {

std::atomic<int64_t> differences{0};

bool draws_numbers(const c10::OperatorHandle& op) {
    for (const auto& argument : op.schema().arguments()) {
        if (argument.type()->str().find("Generator") != std::string::npos) {
            return true;
        }
    }
    const std::string& name = op.operator_name().name;
    return name == "aten::native_dropout" || name == "aten::empty" || name == "aten::empty_like" ||
           name == "aten::_fused_dropout" || name.rfind("aten::new_empty", 0) == 0;
}

// The same value on the CPU, with memory of its own. Tensors that are one stay one.
class Copies {
  public:
    c10::IValue of(const c10::IValue& value) {
        if (value.isTensor()) {
            return copy(value.toTensor());
        }
        if (value.isTensorList()) {
            c10::List<at::Tensor> items;
            for (const at::Tensor& item : value.toTensorVector()) {
                items.push_back(copy(item));
            }
            return items;
        }
        if (value.isOptionalTensorList()) {
            c10::List<std::optional<at::Tensor>> items;
            for (const c10::IValue& item : value.toListRef()) {
                items.push_back(item.isNone() ? std::optional<at::Tensor>() : copy(item.toTensor()));
            }
            return items;
        }
        if (value.isDevice() && value.toDevice().type() == kDeviceType) {
            return c10::Device(c10::kCPU);
        }
        return value;
    }

  private:
    at::Tensor copy(const at::Tensor& tensor) {
        if (!tensor.defined()) {
            return tensor;
        }
        at::Tensor& known = known_[tensor.unsafeGetTensorImpl()];
        if (!known.defined()) {
            known = tensor.to(at::kCPU, tensor.scalar_type(), /*non_blocking=*/false, /*copy=*/true);
        }
        return known;
    }

    std::map<const c10::TensorImpl*, at::Tensor> known_;
};

// The functions of the interface that a call led to, and how many numbers they add up for an element at most.
struct Path {
    const std::vector<const char*>& functions;
    Terms terms;

    ResultBound bound_of(const at::Tensor& expected, double largest) const {
        ResultBound bound(dtype_of(expected.scalar_type()), largest);
        for (const char* const function : functions) {
            bound.add(tolerance_of(function), terms, expected.numel());
        }
        // PyTorch's kernels for the CPU round what they hand from one step to the next to halves.
        if (!functions.empty() && expected.element_size() == 2) {
            bound.add(Tolerance::kRounding, terms, expected.numel());
        }
        return bound;
    }
};

template <typename Number>
double largest_of(const Number* values, int64_t count) {
    double largest = 0;
    for (int64_t i = 0; i < count; ++i) {
        const double size = std::abs(values[i]);
        largest = std::isfinite(size) ? std::max(largest, size) : largest;
    }
    return largest;
}

// Counts the elements of two tensors that differ, and returns the worst. `path` is null where they must be equal.
template <typename Number>
std::pair<int64_t, int64_t> differing(const at::Tensor& actual, const at::Tensor& expected, const Path* path) {
    const at::Tensor own = actual.to(c10::CppTypeToScalarType<Number>::value).contiguous();
    const at::Tensor other = expected.to(own.scalar_type()).contiguous();
    const auto* const a = own.const_data_ptr<Number>();
    const auto* const b = other.const_data_ptr<Number>();
    const double largest = largest_of(b, own.numel());
    const ResultBound bound =
        path == nullptr ? ResultBound(dtype_of(expected.scalar_type()), largest) : path->bound_of(expected, largest);
    int64_t count = 0;
    int64_t worst = 0;
    double most = 1;
    for (int64_t i = 0; i < own.numel(); ++i) {
        double excess = 0;
        if constexpr (std::is_same_v<Number, double>) {
            excess = bound.excess(a[i], b[i]);
        } else {
            excess = bound.excess(std::complex<double>(a[i]), std::complex<double>(b[i]));
        }
        count += excess > 1 ? 1 : 0;
        worst = excess > most ? i : worst;
        most = std::max(most, excess);
    }
    return {count, worst};
}

// Describes the difference of a tensor; empty if there is none.
std::string difference_of(const at::Tensor& actual, const at::Tensor& expected, const Path* path) {
    std::ostringstream text;
    if (actual.defined() != expected.defined()) {
        return actual.defined() ? "there is a tensor, the CPU has none" : "there is no tensor, the CPU has one";
    }
    if (!actual.defined()) {
        return "";
    }
    if (actual.scalar_type() != expected.scalar_type() || actual.sizes() != expected.sizes()) {
        text << actual.scalar_type() << ' ' << actual.sizes() << ", the CPU has " << expected.scalar_type() << ' '
             << expected.sizes();
        return text.str();
    }
    const at::Tensor own = actual.to(at::kCPU).contiguous();
    std::pair<int64_t, int64_t> found{0, 0};
    if (at::isComplexType(own.scalar_type())) {
        found = differing<c10::complex<double>>(own, expected, path);
    } else if (at::isFloatingType(own.scalar_type())) {
        found = differing<double>(own, expected, path);
    } else if (const at::Tensor wrong = own.ne(expected); wrong.any().item<bool>()) {
        found = {wrong.sum().item<int64_t>(), wrong.flatten().to(at::kByte).argmax().item<int64_t>()};
    }
    const auto [wrong, worst] = found;
    if (wrong == 0) {
        return "";
    }
    text << wrong << " of " << own.numel() << " elements differ, most at " << worst << ": "
         << c10::IValue(own.flatten()[worst].item()) << ", the CPU has "
         << c10::IValue(expected.flatten()[worst].item());
    return text.str();
}

std::string difference_of(const c10::IValue& actual, const c10::IValue& expected, const Path* path) {
    if (actual.isTensor() && expected.isTensor()) {
        return difference_of(actual.toTensor(), expected.toTensor(), path);
    }
    if (actual.isTensorList() && expected.isTensorList()) {
        const auto own = actual.toTensorVector();
        const auto other = expected.toTensorVector();
        for (size_t i = 0; i < std::min(own.size(), other.size()); ++i) {
            const std::string found = difference_of(own[i], other[i], path);
            if (!found.empty()) {
                return "[" + std::to_string(i) + "] " + found;
            }
        }
    }
    return "";
}

// Adds the operands of a call.
void count(const c10::IValue& value, Terms* terms) {
    if (value.isTensorList()) {
        for (const at::Tensor& tensor : value.toTensorVector()) {
            count(tensor, terms);
        }
    } else if (value.isTensor() && value.toTensor().defined()) {
        const at::Tensor& tensor = value.toTensor();
        const bool is_floating = at::isFloatingType(tensor.scalar_type());
        const at::Tensor values = is_floating ? tensor.to(at::kDouble).contiguous() : tensor;
        terms->add(tensor.numel(), is_floating ? largest_of(values.const_data_ptr<double>(), tensor.numel()) : 0);
    }
}

void keep(const std::string& name, const torch::jit::Stack& arguments, const std::string& folder,
          const std::string& report) {
    static std::atomic<int> number{0};
    std::ostringstream directory;
    directory << folder << '/' << number.fetch_add(1) << '_' << name;
    std::error_code failure;
    std::filesystem::create_directories(directory.str(), failure);
    std::ofstream text(directory.str() + "/report.txt");
    text << report;
    // For `diopigen conformance repro`.
    std::ofstream(directory.str() + "/device") << c10::get_privateuse1_backend() << '\n';
    c10::impl::GenericList list(c10::AnyType::get());
    for (const c10::IValue& value : arguments) {
        list.push_back(value.isGenerator() || value.isStream() ? c10::IValue() : value);
    }
    const std::vector<char> bytes = torch::jit::pickle_save(c10::ivalue::Tuple::create(c10::IValue(name), list));
    std::ofstream data(directory.str() + "/case.pt", std::ios::binary);
    data.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!text || !data) {
        std::cerr << "diopi: the call cannot be kept in " + directory.str() + "\n";
    } else {
        std::cerr << "  kept in " + directory.str() + "\n";
    }
}

}  // namespace

torch::jit::Stack copied(const torch::jit::Stack& values) {
    Copies copies;
    torch::jit::Stack copied;
    for (const c10::IValue& value : values) {
        copied.push_back(copies.of(value));
    }
    return copied;
}

int64_t difference_count() { return differences.load(); }

Comparison::Comparison(const c10::OperatorHandle& op, const torch::jit::Stack& arguments) : op_(op) {
    if (draws_numbers(op)) {
        return;
    }
    before_ = copied(arguments);
    expected_ = copied(before_);
    results_ = expected_;
    try {
        run_on_cpu(op, &results_);
        is_run_ = true;
    } catch (const std::exception&) {
        // The CPU rejects the call: so may the device, and there is nothing to compare with.
    }
}

void Comparison::compare(const torch::jit::Stack& arguments, const torch::jit::Stack& results,
                         const std::vector<const char*>& functions, const std::string& folder) {
    if (!is_run_) {
        return;
    }
    const std::string name = overload_name(op_);
    std::string report;
    const auto& schema = op_.schema();
    Path path{functions, {}};
    for (size_t i = 0; i < arguments.size(); ++i) {
        const auto* const alias = schema.arguments()[i].alias_info();
        if (alias == nullptr || !alias->isWrite() || !schema.arguments()[i].kwarg_only()) {
            count(before_[i], &path.terms);
        }
    }
    for (size_t i = 0; i < arguments.size(); ++i) {
        const auto* const alias = schema.arguments()[i].alias_info();
        // Schemas do not tell of all: batch_norm writes the running statistics.
        const bool is_written =
            (alias != nullptr && alias->isWrite()) || !difference_of(expected_[i], before_[i], nullptr).empty();
        const std::string wrong = difference_of(arguments[i], expected_[i], is_written ? &path : nullptr);
        if (!wrong.empty()) {
            report += "  " + schema.arguments()[i].name() + (is_written ? ": " : " is an input, and has changed: ") +
                      wrong + "\n";
        }
    }
    const size_t returned = std::min(results_.size(), schema.returns().size());
    for (size_t i = 0; i < returned; ++i) {
        const c10::IValue& actual = results[results.size() - returned + i];
        const std::string wrong = difference_of(actual, results_[results_.size() - returned + i], &path);
        if (!wrong.empty()) {
            report += "  result " + std::to_string(i) + ": " + wrong + "\n";
        }
    }
    if (report.empty()) {
        return;
    }
    const bool is_first = differences.fetch_add(1) == 0;
    std::string called;
    for (size_t i = 0; i < arguments.size(); ++i) {
        called += "    " + schema.arguments()[i].name() + ": " + describe(arguments[i], false) + "\n";
    }
    report = "diopi: " + name + " differs from the CPU" + (is_first ? " (the first operator that does)\n" : "\n") +
             report + "  called with\n" + called;
    std::cerr << report;
    keep(name, before_, folder, report);
}

}  // namespace diopigen::backend
