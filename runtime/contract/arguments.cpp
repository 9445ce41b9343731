#include "arguments.h"

#include "dtypes.h"

namespace diopigen::contract {

namespace {

Value scalar_of(const diopiScalar_t& scalar) {
    Value result;
    result.type = Value::Type::kScalar;
    result.dtype = scalar.stype;
    result.number = is_floating(scalar.stype) ? Number::of(scalar.fval) : Number::of(scalar.ival);
    return result;
}

Argument plain_argument(const Operand& operand) {
    Argument argument;
    const void* const value = operand.value();
    argument.is_null = value == nullptr;
    if (argument.is_null) {
        return argument;
    }
    if (operand.is_written() && operand.points) {
        argument.is_room = true;
        return argument;
    }
    switch (operand.kind) {
        case Kind::kBoolean:
            argument.value = Value::of(*static_cast<const bool*>(value));
            break;
        case Kind::kInteger:
            argument.value = Value::of(operand.integer());
            break;
        case Kind::kReal:
            argument.value = Value::of(operand.real());
            break;
        case Kind::kScalar:
            argument.value = scalar_of(*static_cast<const diopiScalar_t*>(value));
            break;
        case Kind::kSizes: {
            const auto& sizes = *static_cast<const diopiSize_t*>(value);
            argument.is_null = sizes.data == nullptr && sizes.len > 0;
            if (!argument.is_null) {
                argument.value = Value::of(Sizes(sizes.data, sizes.data + sizes.len));
            }
            break;
        }
        case Kind::kText:
            argument.value.emplace();
            argument.value->type = Value::Type::kText;
            argument.value->text = *static_cast<const char* const*>(value);
            argument.is_null = argument.value->text == nullptr;
            break;
        case Kind::kGenerator:
            argument.is_null = *static_cast<void* const*>(value) == nullptr;
            argument.is_room = true;
            break;
        default:
            argument.is_room = true;
            break;
    }
    return argument;
}

// `next` is the first tensor of the operand, and behind its last one afterwards.
Argument argument_of(const Operand& operand, CallTensors::const_iterator& next) {
    Argument argument;
    switch (operand.kind) {
        case Kind::kTensor:
            argument.is_tensor = true;
            argument.tensor = next++->view;
            argument.is_null = argument.tensor.is_null();
            return argument;
        case Kind::kTensors:
            argument.is_tensor = argument.is_array = true;
            argument.is_null = operand.handles() == nullptr && operand.count > 0;
            for (int64_t i = 0; operand.handles() != nullptr && i < operand.count; ++i) {
                const TensorView& member = next++->view;
                argument.members.push_back(member);
                if (!member.is_null()) {
                    argument.tensors.push_back(member);
                }
            }
            return argument;
        case Kind::kAllocated:
            argument.is_null = operand.handles() == nullptr;
            argument.is_room = true;
            return argument;
        default:
            return plain_argument(operand);
    }
}

bool is_empty(const TensorView& tensor) {
    return !tensor.is_null() && tensor.shape.len == 1 && tensor.shape.data[0] == 0;
}

// The argument whose shape the tensors of `rule` have; null where another rule decides.
const Argument* followed(const Parameter& rule, const std::vector<Argument>& arguments) {
    if (rule.shape != ShapeForm::kRule || kNodes[rule.shape_first].function != Fn::sizes) {
        return nullptr;
    }
    const Node& child = kNodes[kChildren[kNodes[rule.shape_first].first]];
    return child.op == Op::kParameter ? &arguments[static_cast<size_t>(child.integer)] : nullptr;
}

// Hosts pass [0] for an optional tensor that is not there, and for members of an optional array. Where the tensor that
// it follows is [0] as well, it is there.
void drop_empty(const Parameter& rule, const std::vector<Argument>& arguments, Argument& argument) {
    if (!rule.is_nullable || !argument.is_tensor || argument.is_null) {
        return;
    }
    const Argument* const other = followed(rule, arguments);
    if (!argument.is_array) {
        argument.is_null =
            is_empty(argument.tensor) && (other == nullptr || other->is_array || !is_empty(other->tensor));
        return;
    }
    if (other == nullptr || other->members.size() != argument.members.size()) {
        return;  // [0] is a list of no indices
    }
    argument.tensors.clear();
    for (size_t k = 0; k < argument.members.size(); ++k) {
        TensorView& member = argument.members[k];
        if (is_empty(member) && !is_empty(other->members[k])) {
            member = TensorView();
        } else if (!member.is_null()) {
            argument.tensors.push_back(member);
        }
    }
}

}  // namespace

void make_arguments(Operands operands, const Parameter* rules, const CallTensors& tensors,
                    std::vector<Argument>& arguments) {
    arguments.clear();
    arguments.reserve(static_cast<size_t>(operands.count));
    auto next = tensors.begin();
    for (const Operand& operand : operands) {
        arguments.push_back(argument_of(operand, next));
    }
    for (size_t i = 0; i < arguments.size(); ++i) {
        drop_empty(rules[i], arguments, arguments[i]);
    }
}

}  // namespace diopigen::contract
