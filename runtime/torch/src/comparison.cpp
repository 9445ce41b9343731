#include "comparison.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/isclose.h>
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

#include "words.h"

namespace diopigen::backend {

namespace {

std::atomic<int64_t> differences{0};

struct Tolerance {
    double relative;
    double absolute;
};

// Half of the digits of a dtype: kernels add up in other orders, and each call is compared by itself.
Tolerance toleranceOf(at::ScalarType type) {
    switch (c10::toRealValueType(type)) {
        case at::kHalf:
            return {2e-3, 1e-3};
        case at::kBFloat16:
            return {1.6e-2, 1e-2};
        case at::kFloat:
            return {1e-4, 1e-5};
        case at::kDouble:
            return {1e-7, 1e-9};
        default:
            return {0, 0};
    }
}

// Operators whose results need more, by the name before the dot.
const std::map<std::string, double>& widened() {
    // Sums of many products, and what divides by small differences.
    static const std::map<std::string, double> factors = {
        {"convolution_overrideable", 10},
        {"convolution_backward_overrideable", 10},
        {"addmm", 10},
        {"mm", 10},
        {"bmm", 10},
        {"baddbmm", 10},
        {"native_batch_norm_backward", 10},
        {"native_layer_norm_backward", 10},
        {"native_group_norm_backward", 10},
    };
    return factors;
}

bool drawsNumbers(const c10::OperatorHandle& op) {
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

// What is wrong with a tensor; empty where nothing is.
std::string differenceOf(const at::Tensor& actual, const at::Tensor& expected, Tolerance tolerance) {
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
    const at::Tensor own = actual.to(at::kCPU);
    const bool isExact = tolerance.relative == 0;
    const at::Tensor good =
        isExact ? own.eq(expected) : at::isclose(own, expected, tolerance.relative, tolerance.absolute, true);
    const int64_t wrong = good.logical_not().sum().item<int64_t>();
    if (wrong == 0) {
        return "";
    }
    const auto type = at::isComplexType(own.scalar_type()) ? at::kComplexDouble : at::kDouble;
    const at::Tensor distance = (own.to(type) - expected.to(type))
                                    .abs()
                                    .masked_fill(good, -1)
                                    .nan_to_num(std::numeric_limits<double>::max(), std::numeric_limits<double>::max());
    const int64_t worst = distance.flatten().argmax().item<int64_t>();
    text << wrong << " of " << own.numel() << " elements differ, most at " << worst << ": "
         << c10::IValue(own.flatten()[worst].item()) << ", the CPU has "
         << c10::IValue(expected.flatten()[worst].item());
    return text.str();
}

std::string differenceOf(const c10::IValue& actual, const c10::IValue& expected, double factor) {
    if (actual.isTensor() && expected.isTensor()) {
        const at::Tensor& tensor = expected.toTensor();
        Tolerance tolerance = toleranceOf(tensor.defined() ? tensor.scalar_type() : at::kFloat);
        tolerance.relative *= factor;
        tolerance.absolute *= factor;
        return differenceOf(actual.toTensor(), tensor, tolerance);
    }
    if (actual.isTensorList() && expected.isTensorList()) {
        const auto own = actual.toTensorVector();
        const auto other = expected.toTensorVector();
        for (size_t i = 0; i < std::min(own.size(), other.size()); ++i) {
            const std::string found = differenceOf(c10::IValue(own[i]), c10::IValue(other[i]), factor);
            if (!found.empty()) {
                return "[" + std::to_string(i) + "] " + found;
            }
        }
    }
    return "";
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

int64_t differenceCount() { return differences.load(); }

Comparison::Comparison(const c10::OperatorHandle& op, const torch::jit::Stack& arguments) : op_(op) {
    if (drawsNumbers(op)) {
        return;
    }
    before_ = copied(arguments);
    expected_ = copied(before_);
    results_ = expected_;
    try {
        runOnCpu(op, &results_);
        isRun_ = true;
    } catch (const std::exception&) {
        // The CPU rejects the call: so may the device, and there is nothing to compare with.
    }
}

void Comparison::compare(const torch::jit::Stack& arguments, const torch::jit::Stack& results,
                         const std::string& folder) {
    if (!isRun_) {
        return;
    }
    const std::string name = overloadName(op_);
    const auto found = widened().find(name.substr(0, name.find('.')));
    const double factor = found == widened().end() ? 1 : found->second;
    std::string report;
    const auto& schema = op_.schema();
    for (size_t i = 0; i < arguments.size(); ++i) {
        const auto* const alias = schema.arguments()[i].alias_info();
        const bool isWritten = alias != nullptr && alias->isWrite();
        const std::string wrong = differenceOf(arguments[i], expected_[i], isWritten ? factor : 0);
        if (!wrong.empty()) {
            report += "  " + schema.arguments()[i].name() + (isWritten ? ": " : " is an input, and has changed: ") +
                      wrong + "\n";
        }
    }
    const size_t count = std::min(results_.size(), schema.returns().size());
    for (size_t i = 0; i < count; ++i) {
        const c10::IValue& actual = results[results.size() - count + i];
        const std::string wrong = differenceOf(actual, results_[results_.size() - count + i], factor);
        if (!wrong.empty()) {
            report += "  result " + std::to_string(i) + ": " + wrong + "\n";
        }
    }
    if (report.empty()) {
        return;
    }
    const bool isFirst = differences.fetch_add(1) == 0;
    std::string called;
    for (size_t i = 0; i < arguments.size(); ++i) {
        called += "    " + schema.arguments()[i].name() + ": " + describe(arguments[i], false) + "\n";
    }
    report = "diopi: " + name + " differs from the CPU" + (isFirst ? " (the first operator that does)\n" : "\n") +
             report + "  called with\n" + called;
    std::cerr << report;
    keep(name, before_, folder, report);
}

}  // namespace diopigen::backend
