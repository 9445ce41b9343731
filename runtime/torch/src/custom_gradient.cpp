#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros_like.h>
#include <diopigen_torch/custom_gradient.h>
#include <torch/csrc/autograd/edge.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace diopigen::backend {

namespace {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;
using NodePtr = c10::intrusive_ptr<torch::autograd::Node>;

struct Word {
    char kind;
    size_t index = 0;
    int64_t dimension = 0;
};

struct Backward {
    std::string name;
    std::vector<Word> arguments;
    std::vector<std::optional<size_t>> results;

    /// The arguments of the forward call whose gradients it computes.
    std::vector<size_t> targets() const {
        std::vector<size_t> found;
        for (const Word& word : arguments) {
            if (word.kind == 'z') {
                found.push_back(word.index);
            }
        }
        for (const std::optional<size_t>& result : results) {
            if (result.has_value()) {
                found.push_back(*result);
            }
        }
        return found;
    }
};

// Filled while the library loads, read afterwards.
std::map<std::string, std::vector<Backward>>& gradients_by_operator() {
    static std::map<std::string, std::vector<Backward>> gradients;
    return gradients;
}

std::vector<std::string> split(const char* text) {
    std::istringstream stream(text);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) {
        words.push_back(word);
    }
    return words;
}

Word parse(const std::string& text) {
    Word word{text.front()};
    if (text.size() > 1) {
        word.index = std::stoul(text.substr(1));
    }
    if (const size_t dot = text.find('.'); dot != std::string::npos) {
        word.dimension = std::stoll(text.substr(dot + 1));
    }
    return word;
}

bool isTensor(const c10::IValue& value) { return value.isTensor() && value.toTensor().defined(); }

/// A value of the forward call: a tensor, or anything else as it is.
struct Saved {
    c10::IValue value;
    std::optional<SavedVariable> tensor;

    Saved(const c10::IValue& source, bool is_output) {
        if (isTensor(source)) {
            tensor.emplace(source.toTensor(), is_output);
        } else {
            value = source;
        }
    }
    c10::IValue get(const NodePtr& owner) const {
        return tensor.has_value() ? c10::IValue(tensor->unpack(owner)) : value;
    }
};

class CustomGradient final : public torch::autograd::Node {
  public:
    CustomGradient(std::string name, const std::vector<Backward>& calls, std::vector<size_t> targets)
        : name_("diopi::" + std::move(name) + "_backward"), calls_(&calls), targets_(std::move(targets)) {}

    std::string name() const override { return name_; }

    void keep_inputs(const torch::jit::Stack& values) {
        for (size_t i = 0; i < values.size(); ++i) {
            // Of a tensor whose size alone matters, no values are kept.
            inputs_.emplace_back(reads('i', i) ? values[i] : c10::IValue(), /*is_output=*/false);
            const bool is_sized = reads('s', i) || reads('z', i);
            sizes_.push_back(is_sized && isTensor(values[i]) ? values[i].toTensor().sizes().vec()
                                                             : std::vector<int64_t>());
            if (isTensor(values[i]) && !options_.has_value()) {
                options_ = values[i].toTensor().options();
            }
            types_.push_back(isTensor(values[i]) ? values[i].toTensor().scalar_type() : at::ScalarType::Undefined);
        }
    }

    /// Ties the results that have a gradient to this node.
    void keep_outputs(torch::jit::Stack& stack, size_t begin) {
        const NodePtr self = getptr();
        for (size_t i = begin; i < stack.size(); ++i) {
            if (reads('g', i - begin) && isTensor(stack[i])) {
                at::Tensor result = stack[i].toTensor();
                positions_[i - begin] = static_cast<size_t>(num_inputs());
                torch::autograd::set_history(result, self);
            }
        }
        for (size_t i = begin; i < stack.size(); ++i) {
            outputs_.emplace_back(reads('o', i - begin) ? stack[i] : c10::IValue(), /*is_output=*/true);
        }
    }

    variable_list apply(variable_list&& gradients) override {
        const std::lock_guard<std::mutex> lock(mutex_);
        TORCH_CHECK(!released_, torch::autograd::ERR_BACKWARD_TWICE);
        variable_list results(targets_.size());
        for (const Backward& call : *calls_) {
            run(call, gradients, results);
        }
        return results;
    }

    void release_variables() override {
        const std::lock_guard<std::mutex> lock(mutex_);
        inputs_.clear();
        outputs_.clear();
        released_ = true;
    }

  private:
    bool reads(char kind, size_t index) const {
        return std::any_of(calls_->begin(), calls_->end(), [&](const Backward& call) {
            return std::any_of(call.arguments.begin(), call.arguments.end(),
                               [&](const Word& word) { return word.kind == kind && word.index == index; });
        });
    }

    void give(variable_list& results, size_t argument, const at::Tensor& gradient) const {
        const auto position = std::find(targets_.begin(), targets_.end(), argument);
        if (position != targets_.end()) {
            results[static_cast<size_t>(position - targets_.begin())] = gradient;
        }
    }

    c10::IValue argument(const Word& word, const c10::Argument& parameter, const variable_list& gradients) {
        switch (word.kind) {
            case 'i':
                return inputs_[word.index].get({});
            case 'o':
                return outputs_[word.index].get(getptr());
            case 'g': {
                const size_t position = positions_.at(word.index);
                return gradients[position].defined() ? gradients[position] : input_metadata(position).zeros_like();
            }
            case 's':
                return sizes_[word.index].at(static_cast<size_t>(word.dimension));
            case 'z':
                return at::zeros(sizes_[word.index], options_->dtype(types_[word.index]));
            case 'e':
                return at::empty({0}, *options_);
            default:
                return *parameter.default_value();
        }
    }

    void run(const Backward& call, const variable_list& gradients, variable_list& results) {
        const std::vector<size_t> targets = call.targets();
        const bool is_needed = std::any_of(targets.begin(), targets.end(), [&](size_t target) {
            const auto position = std::find(targets_.begin(), targets_.end(), target);
            return position != targets_.end() &&
                   task_should_compute_output(static_cast<size_t>(position - targets_.begin()));
        });
        if (!is_needed) {
            return;
        }
        const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(call.name.c_str(), "");
        torch::jit::Stack stack;
        for (size_t i = 0; i < call.arguments.size(); ++i) {
            const Word& word = call.arguments[i];
            stack.push_back(argument(word, op.schema().arguments()[i], gradients));
            if (word.kind == 'z') {
                give(results, word.index, stack.back().toTensor());
            }
        }
        op.callBoxed(&stack);
        for (size_t i = 0; i < call.results.size(); ++i) {
            if (call.results[i].has_value()) {
                give(results, *call.results[i], stack[i].toTensor());
            }
        }
    }

    std::mutex mutex_;
    std::string name_;
    const std::vector<Backward>* calls_;
    std::vector<size_t> targets_;  // arguments, in the order of the edges
    std::vector<Saved> inputs_;
    std::vector<Saved> outputs_;
    std::vector<std::vector<int64_t>> sizes_;
    std::vector<at::ScalarType> types_;
    std::optional<at::TensorOptions> options_;
    std::map<size_t, size_t> positions_;  // of the gradient of a result
    bool released_ = false;
};

void run(const c10::OperatorHandle& op, c10::DispatchKeySet keys, torch::jit::Stack* stack) {
    const std::string& name = op.operator_name().name;
    const std::vector<Backward>& calls = gradients_by_operator().at(name);
    const size_t begin = stack->size() - op.schema().arguments().size();
    const torch::jit::Stack values(stack->begin() + static_cast<std::ptrdiff_t>(begin), stack->end());
    std::vector<size_t> targets;
    torch::autograd::edge_list edges;
    for (const Backward& call : calls) {
        for (const size_t target : call.targets()) {
            targets.push_back(target);
        }
    }
    const bool is_needed =
        c10::GradMode::is_enabled() && std::any_of(targets.begin(), targets.end(), [&](size_t target) {
            return isTensor(values[target]) && values[target].toTensor().requires_grad();
        });
    c10::intrusive_ptr<CustomGradient> node;
    if (is_needed) {
        for (const size_t target : targets) {
            edges.push_back(isTensor(values[target]) ? torch::autograd::impl::gradient_edge(values[target].toTensor())
                                                     : torch::autograd::Edge());
        }
        node = c10::make_intrusive<CustomGradient>(name.substr(name.find("::") + 2), calls, targets);
        node->set_next_edges(std::move(edges));
        node->keep_inputs(values);
    }
    {
        const at::AutoDispatchBelowADInplaceOrView guard;
        op.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
    }
    if (node) {
        node->keep_outputs(*stack, begin);
    }
}

}  // namespace

void add_gradient(const char* forward, const char* backward, const char* arguments, const char* results) {
    Backward call{std::string("diopi::") + backward, {}, {}};
    for (const std::string& word : split(arguments)) {
        call.arguments.push_back(parse(word));
    }
    for (const std::string& word : split(results)) {
        call.results.push_back(word == "-" ? std::nullopt : std::make_optional<size_t>(std::stoul(word)));
    }
    gradients_by_operator()[std::string("diopi::") + forward].push_back(std::move(call));
}

void differentiate(torch::Library& library, const char* forward) {
    library.impl(forward, torch::CppFunction::makeFromBoxedFunction<&run>());
}

}  // namespace diopigen::backend
