#include "arguments.h"

#include "dtypes.h"

namespace diopigen::contract {

namespace {

Value scalarOf(const diopiScalar_t& scalar) {
    Value result;
    result.type = Value::Type::kScalar;
    result.dtype = scalar.stype;
    result.number = isFloating(scalar.stype) ? Number::of(scalar.fval) : Number::of(scalar.ival);
    return result;
}

Argument plainArgument(const Operand& operand) {
    Argument argument;
    const void* const value = operand.value();
    argument.isNull = value == nullptr;
    if (argument.isNull) {
        return argument;
    }
    if (operand.isWritten() && operand.points) {
        argument.isRoom = true;
        return argument;
    }
    switch (operand.kind) {
        case Kind::boolean:
            argument.value = Value::of(*static_cast<const bool*>(value));
            break;
        case Kind::integer:
            argument.value = Value::of(operand.integer());
            break;
        case Kind::real:
            argument.value = Value::of(operand.real());
            break;
        case Kind::scalar:
            argument.value = scalarOf(*static_cast<const diopiScalar_t*>(value));
            break;
        case Kind::sizes: {
            const auto& sizes = *static_cast<const diopiSize_t*>(value);
            argument.isNull = sizes.data == nullptr && sizes.len > 0;
            if (!argument.isNull) {
                argument.value = Value::of(Sizes(sizes.data, sizes.data + sizes.len));
            }
            break;
        }
        case Kind::text:
            argument.value.emplace();
            argument.value->type = Value::Type::kText;
            argument.value->text = *static_cast<const char* const*>(value);
            argument.isNull = argument.value->text == nullptr;
            break;
        case Kind::generator:
            argument.isNull = *static_cast<void* const*>(value) == nullptr;
            argument.isRoom = true;
            break;
        default:
            argument.isRoom = true;
            break;
    }
    return argument;
}

// `next` is the first tensor of the operand, and behind its last one afterwards.
Argument argumentOf(const Operand& operand, CallTensors::const_iterator& next) {
    Argument argument;
    switch (operand.kind) {
        case Kind::tensor:
            argument.isTensor = true;
            argument.tensor = next++->view;
            argument.isNull = argument.tensor.isNull();
            return argument;
        case Kind::tensors:
            argument.isTensor = argument.isArray = true;
            argument.isNull = operand.handles() == nullptr && operand.count > 0;
            for (int64_t i = 0; operand.handles() != nullptr && i < operand.count; ++i) {
                const TensorView& member = next++->view;
                argument.members.push_back(member);
                if (!member.isNull()) {
                    argument.tensors.push_back(member);
                }
            }
            return argument;
        case Kind::allocated:
            argument.isNull = operand.handles() == nullptr;
            argument.isRoom = true;
            return argument;
        default:
            return plainArgument(operand);
    }
}

bool isEmpty(const TensorView& tensor) {
    return !tensor.isNull() && tensor.shape.len == 1 && tensor.shape.data[0] == 0;
}

// The argument whose shape the tensors of `rule` have; null where another rule decides.
const Argument* followed(const Parameter& rule, const std::vector<Argument>& arguments) {
    if (rule.shape != ShapeForm::kRule || nodes[rule.shapeFirst].function != Fn::sizes) {
        return nullptr;
    }
    const Node& child = nodes[children[nodes[rule.shapeFirst].first]];
    return child.op == Op::kParameter ? &arguments[static_cast<size_t>(child.integer)] : nullptr;
}

// Hosts pass [0] for an optional tensor that is not there, and for members of an optional array. Where the tensor that
// it follows is [0] as well, it is there.
void dropEmpty(const Parameter& rule, const std::vector<Argument>& arguments, Argument& argument) {
    if (!rule.isNullable || !argument.isTensor || argument.isNull) {
        return;
    }
    const Argument* const other = followed(rule, arguments);
    if (!argument.isArray) {
        argument.isNull = isEmpty(argument.tensor) && (other == nullptr || other->isArray || !isEmpty(other->tensor));
        return;
    }
    if (other == nullptr || other->members.size() != argument.members.size()) {
        return;  // [0] is a list of no indices
    }
    argument.tensors.clear();
    for (size_t k = 0; k < argument.members.size(); ++k) {
        TensorView& member = argument.members[k];
        if (isEmpty(member) && !isEmpty(other->members[k])) {
            member = TensorView();
        } else if (!member.isNull()) {
            argument.tensors.push_back(member);
        }
    }
}

}  // namespace

void makeArguments(Operands operands, const Parameter* rules, const CallTensors& tensors,
                   std::vector<Argument>& arguments) {
    arguments.clear();
    arguments.reserve(static_cast<size_t>(operands.count));
    auto next = tensors.begin();
    for (const Operand& operand : operands) {
        arguments.push_back(argumentOf(operand, next));
    }
    for (size_t i = 0; i < arguments.size(); ++i) {
        dropEmpty(rules[i], arguments, arguments[i]);
    }
}

}  // namespace diopigen::contract
