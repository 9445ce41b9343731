#include "validation.h"

#include <algorithm>
#include <cstring>

#include "arguments.h"
#include "dtypes.h"
#include "text.h"

namespace diopigen::contract {

namespace {

// The memory of arguments, kept from call to call.
std::vector<Argument>& cachedArguments() {
    static thread_local std::vector<Argument> memory;
    return memory;
}

// Whether the shape of a parameter names a dimension.
bool namesDimension(const Parameter& rule, int64_t name) {
    if (rule.shape != ShapeForm::kList || !rule.isRead) {
        return false;
    }
    const Dimension* const entries = &dimensions[rule.shapeFirst];
    return std::any_of(entries, entries + rule.shapeCount, [&](const Dimension& entry) { return entry.name == name; });
}

// The parameters that an expression reads, and those that dimensions in it are of, each once.
void addOperands(const Node& node, Operands operands, const Parameter* rules, std::vector<bool>& isNamed,
                 std::string& text) {
    for (int64_t i = 0; i < operands.count; ++i) {
        const bool isRead = node.op == Op::kParameter   ? node.integer == i
                            : node.op == Op::kDimension ? namesDimension(rules[i], node.integer)
                                                        : false;
        if (isRead && !isNamed[static_cast<size_t>(i)]) {
            isNamed[static_cast<size_t>(i)] = true;
            const Operand& operand = operands.first[i];
            text += std::string(text.empty() ? "" : ", ") + operand.name + "=" + textOf(operand);
        }
    }
    for (int i = 0; i < node.count; ++i) {
        addOperands(nodes[children[node.first + i]], operands, rules, isNamed, text);
    }
}

}  // namespace

Validation::Validation(const Contract& contract, Operands operands, const CallTensors& tensors)
    : contract_(contract), rules_(&parameters[contract.parametersFirst]), operands_(operands), tensors_(tensors) {
    arguments_.values.swap(cachedArguments());
    makeArguments(operands, rules_, tensors, arguments_.values);
}

Validation::~Validation() { cachedArguments().swap(arguments_.values); }

std::optional<Failure> Validation::run(const Elements& elements) {
    arguments_.elements = elements;
    for (const auto check : {&Validation::presence, &Validation::values, &Validation::dtypes, &Validation::ruledDtypes,
                             &Validation::ranks}) {
        eachParameter(check);
    }
    // What a parameter states of itself comes before shapes, which follow from it.
    constraints(Stated::byKey);
    eachParameter(&Validation::shapes);
    if (!found_) {
        devices();
    }
    constraints(Stated::byOperator);
    return found_;
}

void Validation::fail(int i, const std::string& text, diopiError_t status) {
    found_ = Failure(status, "'" + std::string(rules_[i].name) + "' " + text);
}

std::string Validation::textOfOperand(int i) const { return textOf(operands_.first[i]); }

std::string Validation::textOfOperands(const Node& node) const {
    std::vector<bool> isNamed(static_cast<size_t>(operands_.count));
    std::string text;
    addOperands(node, operands_, rules_, isNamed, text);
    return text;
}

void Validation::presence(int i) {
    const Parameter& rule = rules_[i];
    const Operand& operand = operands_.first[i];
    const Kind kind = operand.kind;
    if (kind == Kind::tensors && operand.count < 0) {
        fail(i, "cannot have " + std::to_string(operand.count) + " members");
        return;
    }
    const std::vector<TensorView>& members = argument(i).members;
    for (size_t k = 0; k < members.size() && !rule.isNullable; ++k) {
        if (members[k].isNull()) {
            fail(i, "must not be null in member " + std::to_string(k));
            return;
        }
    }
    eachTensor(i, [&](const TensorView& tensor) {
        if (!tensor.isNull() && tensor.isSparse != rule.isSparse) {
            fail(i, rule.isSparse ? "is dense and must be in compressed sparse rows"
                                  : "is sparse; the operator takes dense tensors");
        }
    });
    if (argument(i).isNull && !rule.isNullable && (rule.free & kFreeNullability) == 0 && kind != Kind::other) {
        fail(i, "must not be null");
    }
}

void Validation::values(int i) {
    const Parameter& rule = rules_[i];
    const Argument& one = argument(i);
    if (rule.valuesCount == 0 || one.isNull || one.isRoom || !one.value) {
        return;
    }
    bool isLegal = false;
    std::string legal;
    for (int k = 0; k < rule.valuesCount; ++k) {
        const int32_t at = rule.valuesFirst + k;
        const bool isText = one.value->type == Value::Type::kText;
        isLegal =
            isLegal || (isText ? std::string(texts[at]) == one.value->text : integers[at] == one.value->number.integer);
        legal += (k > 0 ? ", " : "") + (isText ? "'" + std::string(texts[at]) + "'" : std::to_string(integers[at]));
    }
    if (!isLegal) {
        fail(i, "is " + textOfOperand(i) + "; possible are " + legal);
    }
}

// Tensors with dimensions are on one device; a number may be on the host.
void Validation::devices() {
    int onHost = 0;
    int elsewhere = 0;
    int lastOnHost = 0;
    int lastElsewhere = 0;
    for (const CallTensor& tensor : tensors_) {
        const int k = static_cast<int>(tensor.operand - operands_.first);
        const bool isNumber = tensor.view.shape.len == 0 && tensor.view.device == diopi_host;
        const bool isFree = isNumber || (rules_[k].free & kFreeDevice) != 0 || argument(k).isNull;
        if (isFree || tensor.view.isNull() || tensor.view.isSparse) {
            continue;
        }
        (tensor.view.device == diopi_host ? onHost : elsewhere) += 1;
        (tensor.view.device == diopi_host ? lastOnHost : lastElsewhere) = k;
    }
    if (onHost > 0 && elsewhere > 0) {
        fail(onHost <= elsewhere ? lastOnHost : lastElsewhere, onHost <= elsewhere
                                                                   ? "is on the host, other tensors are on the device"
                                                                   : "is on the device, other tensors are on the host");
    }
}

void Validation::eachParameter(void (Validation::*check)(int)) {
    for (int i = 0; i < operands_.count && !found_; ++i) {
        (this->*check)(i);
    }
}

void Validation::constraints(Stated stated) {
    for (int i = 0; i < contract_.constraintsCount && !found_; ++i) {
        const Constraint& constraint = contract::constraints[contract_.constraintsFirst + i];
        // The id of one that a key states is `parameter.key`.
        const bool isOfKey = std::strchr(constraint.id, '.') != nullptr;
        if (isOfKey != (stated == Stated::byKey) || constraint.predicate < 0 ||
            (constraint.readsElements && !arguments_.elements)) {
            continue;
        }
        if (!holds(arguments_, constraint.predicate)) {
            const std::string named = textOfOperands(nodes[constraint.predicate]);
            found_ =
                Failure(constraint.error, std::string(constraint.id) + ": " + constraint.text + " (" + named + ")");
        }
    }
}

}  // namespace diopigen::contract
