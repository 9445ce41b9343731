#include "arguments.h"

#include "dtypes.h"

namespace diopigen::contract {

namespace {

Value scalarOf(const diopiScalar_t& scalar) {
    Value made;
    made.type = Value::Type::kScalar;
    made.dtype = scalar.stype;
    made.number = isFloating(scalar.stype) ? Number::of(scalar.fval) : Number::of(scalar.ival);
    return made;
}

Argument plainArgument(const Operand& operand) {
    Argument made;
    const void* const value = operand.value();
    made.isNull = value == nullptr;
    if (made.isNull) {
        return made;
    }
    if (operand.isWritten() && operand.points) {
        made.isRoom = true;
        return made;
    }
    switch (operand.kind) {
        case Kind::truth:
            made.value = Value::of(*static_cast<const bool*>(value));
            break;
        case Kind::integer:
            made.value = Value::of(operand.integer());
            break;
        case Kind::real:
            made.value = Value::of(operand.real());
            break;
        case Kind::scalar:
            made.value = scalarOf(*static_cast<const diopiScalar_t*>(value));
            break;
        case Kind::sizes: {
            const auto& sizes = *static_cast<const diopiSize_t*>(value);
            made.isNull = sizes.data == nullptr && sizes.len > 0;
            if (!made.isNull) {
                made.value = Value::of(Sizes(sizes.data, sizes.data + sizes.len));
            }
            break;
        }
        case Kind::text:
            made.value.emplace();
            made.value->type = Value::Type::kText;
            made.value->text = *static_cast<const char* const*>(value);
            made.isNull = made.value->text == nullptr;
            break;
        case Kind::generator:
            made.isNull = *static_cast<void* const*>(value) == nullptr;
            made.isRoom = true;
            break;
        default:
            made.isRoom = true;
            break;
    }
    return made;
}

// `next` is the first tensor of the operand, and behind its last one afterwards.
Argument argumentOf(const Operand& operand, const Parameter& rule, CallTensors::const_iterator& next) {
    Argument made;
    switch (operand.kind) {
        case Kind::tensor:
            made.isTensor = true;
            made.tensor = next++->view;
            made.isNull = made.tensor.isNull();
            if (!made.isNull) {
                // Hosts pass an empty tensor for one that is not there.
                made.isNull = rule.isNullable && made.tensor.shape.len == 1 && made.tensor.shape.data[0] == 0;
            }
            return made;
        case Kind::tensors:
            made.isTensor = made.isArray = true;
            made.isNull = operand.handles() == nullptr && operand.count > 0;
            for (int64_t i = 0; operand.handles() != nullptr && i < operand.count; ++i) {
                const TensorView& member = next++->view;
                made.members.push_back(member);
                if (!member.isNull()) {
                    made.tensors.push_back(member);
                }
            }
            return made;
        case Kind::made:
            made.isNull = operand.handles() == nullptr;
            made.isRoom = true;
            return made;
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
