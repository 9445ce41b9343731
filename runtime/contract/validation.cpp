#include "validation.h"

#include <algorithm>
#include <cstring>

#include "arguments.h"
#include "dtypes.h"
#include "text.h"

namespace diopigen::contract {

namespace {

// The memory of arguments, kept from call to call.
std::vector<Argument>& cached_arguments() {
    static thread_local std::vector<Argument> memory;
    return memory;
}

// Whether the shape of a parameter names a dimension.
bool names_dimension(const Parameter& rule, int64_t name) {
    if (rule.shape != ShapeForm::kList || !rule.is_read) {
        return false;
    }
    const Dimension* const entries = &kDimensions[rule.shape_first];
    return std::any_of(entries, entries + rule.shape_count, [&](const Dimension& entry) { return entry.name == name; });
}

// The parameters that an expression reads, and those that dimensions in it are of, each once.
void add_operands(const Node& node, Operands operands, const Parameter* rules, std::vector<bool>& is_named,
                  std::string& text) {
    for (int64_t i = 0; i < operands.count; ++i) {
        const bool is_read = node.op == Op::kParameter   ? node.integer == i
                             : node.op == Op::kDimension ? names_dimension(rules[i], node.integer)
                                                         : false;
        if (is_read && !is_named[static_cast<size_t>(i)]) {
            is_named[static_cast<size_t>(i)] = true;
            const Operand& operand = operands.first[i];
            text += std::string(text.empty() ? "" : ", ") + operand.name + "=" + text_of(operand);
        }
    }
    for (int i = 0; i < node.count; ++i) {
        add_operands(kNodes[kChildren[node.first + i]], operands, rules, is_named, text);
    }
}

}  // namespace

Validation::Validation(const Contract& contract, Operands operands, const CallTensors& tensors)
    : contract_(contract), rules_(&kParameters[contract.parameters_first]), operands_(operands), tensors_(tensors) {
    arguments_.values.swap(cached_arguments());
    make_arguments(operands, rules_, tensors, arguments_.values);
}

Validation::~Validation() { cached_arguments().swap(arguments_.values); }

std::optional<Failure> Validation::run(const Elements& elements) {
    arguments_.elements = elements;
    for (const auto check : {&Validation::presence, &Validation::values, &Validation::dtypes, &Validation::ruled_dtypes,
                             &Validation::ranks}) {
        each_parameter(check);
    }
    // What a parameter states of itself comes before shapes, which follow from it.
    constraints(Stated::kByKey);
    each_parameter(&Validation::shapes);
    if (!found_) {
        devices();
    }
    constraints(Stated::kByOperator);
    return found_;
}

void Validation::fail(int i, const std::string& text, diopiError_t status) {
    found_ = Failure(status, "'" + std::string(rules_[i].name) + "' " + text);
}

std::string Validation::text_of_operand(int i) const { return text_of(operands_.first[i]); }

std::string Validation::text_of_operands(const Node& node) const {
    std::vector<bool> is_named(static_cast<size_t>(operands_.count));
    std::string text;
    add_operands(node, operands_, rules_, is_named, text);
    return text;
}

void Validation::presence(int i) {
    const Parameter& rule = rules_[i];
    const Operand& operand = operands_.first[i];
    const Kind kind = operand.kind;
    if (kind == Kind::kTensors && operand.count < 0) {
        fail(i, "cannot have " + std::to_string(operand.count) + " members");
        return;
    }
    const std::vector<TensorView>& members = argument(i).members;
    for (size_t k = 0; k < members.size() && !rule.is_nullable; ++k) {
        if (members[k].is_null()) {
            fail(i, "must not be null in member " + std::to_string(k));
            return;
        }
    }
    each_tensor(i, [&](const TensorView& tensor) {
        if (!tensor.is_null() && tensor.is_sparse != rule.is_sparse) {
            fail(i, rule.is_sparse ? "is dense and must be in compressed sparse rows"
                                   : "is sparse; the operator takes dense tensors");
        }
    });
    if (argument(i).is_null && !rule.is_nullable && (rule.free & kFreeNullability) == 0 && kind != Kind::kOther) {
        fail(i, "must not be null");
    }
}

void Validation::values(int i) {
    const Parameter& rule = rules_[i];
    const Argument& one = argument(i);
    if (rule.values_count == 0 || one.is_null || one.is_room || !one.value) {
        return;
    }
    bool is_legal = false;
    std::string legal;
    for (int k = 0; k < rule.values_count; ++k) {
        const int32_t at = rule.values_first + k;
        const bool is_text = one.value->type == Value::Type::kText;
        is_legal = is_legal ||
                   (is_text ? std::string(kTexts[at]) == one.value->text : kIntegers[at] == one.value->number.integer);
        legal += (k > 0 ? ", " : "") + (is_text ? "'" + std::string(kTexts[at]) + "'" : std::to_string(kIntegers[at]));
    }
    if (!is_legal) {
        fail(i, "is " + text_of_operand(i) + "; possible are " + legal);
    }
}

// Tensors with dimensions are on one device; a number may be on the host.
void Validation::devices() {
    int on_host = 0;
    int elsewhere = 0;
    int last_on_host = 0;
    int last_elsewhere = 0;
    for (const CallTensor& tensor : tensors_) {
        const int k = static_cast<int>(tensor.operand - operands_.first);
        const bool is_number = tensor.view.shape.len == 0 && tensor.view.device == diopi_host;
        const bool is_free = is_number || (rules_[k].free & kFreeDevice) != 0 || argument(k).is_null;
        if (is_free || tensor.view.is_null() || tensor.view.is_sparse) {
            continue;
        }
        (tensor.view.device == diopi_host ? on_host : elsewhere) += 1;
        (tensor.view.device == diopi_host ? last_on_host : last_elsewhere) = k;
    }
    if (on_host > 0 && elsewhere > 0) {
        fail(on_host <= elsewhere ? last_on_host : last_elsewhere,
             on_host <= elsewhere ? "is on the host, other tensors are on the device"
                                  : "is on the device, other tensors are on the host");
    }
}

void Validation::each_parameter(void (Validation::*check)(int)) {
    for (int i = 0; i < operands_.count && !found_; ++i) {
        (this->*check)(i);
    }
}

void Validation::constraints(Stated stated) {
    for (int i = 0; i < contract_.constraints_count && !found_; ++i) {
        const Constraint& constraint = contract::kConstraints[contract_.constraints_first + i];
        // The id of one that a key states is `parameter.key`.
        const bool is_of_key = std::strchr(constraint.id, '.') != nullptr;
        if (is_of_key != (stated == Stated::kByKey) || constraint.predicate < 0 ||
            (constraint.reads_elements && !arguments_.elements)) {
            continue;
        }
        if (!holds(arguments_, constraint.predicate)) {
            const std::string named = text_of_operands(kNodes[constraint.predicate]);
            found_ =
                Failure(constraint.error, std::string(constraint.id) + ": " + constraint.text + " (" + named + ")");
        }
    }
}

}  // namespace diopigen::contract
