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
Argument argumentOf(const Operand& operand, const Parameter& rule, CallTensors::const_iterator& next) {
    Argument argument;
    switch (operand.kind) {
        case Kind::tensor:
            argument.isTensor = true;
            argument.tensor = next++->view;
            argument.isNull = argument.tensor.isNull();
            if (!argument.isNull) {
                // Hosts pass an empty tensor for one that is not there.
                argument.isNull =
                    rule.isNullable && argument.tensor.shape.len == 1 && argument.tensor.shape.data[0] == 0;
            }
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

}  // namespace

void makeArguments(Operands operands, const Parameter* rules, const CallTensors& tensors,
                   std::vector<Argument>& arguments) {
    arguments.clear();
    arguments.reserve(static_cast<size_t>(operands.count));
    auto next = tensors.begin();
    for (const Operand& operand : operands) {
        arguments.push_back(argumentOf(operand, *rules++, next));
    }
}

}  // namespace diopigen::contract
