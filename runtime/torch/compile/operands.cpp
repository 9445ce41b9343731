#include <ATen/ScalarOps.h>
#include <diopigen_torch/call.h>
#include <diopigen_torch/generator.h>
#include <diopigen_torch/operands.h>

#include <map>
#include <optional>
#include <string_view>

namespace diopigen::backend {

namespace {

// A value that is no tensor.
c10::IValue plain_value(const Json& value, const c10::Type& type, const Numbers& numbers) {
    if (value.is_null()) {
        return {};
    }
    const bool is_open = value.is_object() && !value.at("expression").is_null();
    if (value.is_object() && !is_open) {
        if (const Json& dtype = value.at("dtype"); !dtype.is_null()) {
            return static_cast<int64_t>(scalar_type_named(dtype.text()));
        }
        return c10::Device(value.at("device").text());
    }
    switch (type.kind()) {
        case c10::TypeKind::OptionalType:
            return plain_value(value, *type.castRaw<c10::OptionalType>()->getElementType(), numbers);
        case c10::TypeKind::FloatType:
            return numbers.real(value);
        case c10::TypeKind::NumberType:
            return numbers.scalar(value);
        case c10::TypeKind::ListType: {
            const c10::TypePtr element = type.castRaw<c10::ListType>()->getElementType();
            c10::impl::GenericList list(element);
            for (const Json& each : value.list()) {
                list.push_back(plain_value(each, *element, numbers));
            }
            return list;
        }
        default:
            break;
    }
    return value.is_text() ? c10::IValue(value.text()) : c10::IValue(numbers.scalar(value));
}

// A pointer to a number that may be missing.
template <typename Values, typename Value>
const void* stored(Values& values, const Value& value) {
    return &values.emplace_back(value);
}

}  // namespace

at::ScalarType scalar_type_named(const std::string& name) {
    static const std::map<std::string, at::ScalarType> types = {{"int8", at::kChar},
                                                                {"uint8", at::kByte},
                                                                {"int16", at::kShort},
                                                                {"uint16", at::kUInt16},
                                                                {"int32", at::kInt},
                                                                {"uint32", at::kUInt32},
                                                                {"int64", at::kLong},
                                                                {"uint64", at::kUInt64},
                                                                {"float16", at::kHalf},
                                                                {"float32", at::kFloat},
                                                                {"float64", at::kDouble},
                                                                {"bool", at::kBool},
                                                                {"bfloat16", at::kBFloat16},
                                                                {"float8_e4m3fn", at::kFloat8_e4m3fn},
                                                                {"float8_e5m2", at::kFloat8_e5m2},
                                                                {"float8_e8m0fnu", at::kFloat8_e8m0fnu},
                                                                {"complex32", at::kComplexHalf},
                                                                {"complex64", at::kComplexFloat},
                                                                {"complex128", at::kComplexDouble}};
    const auto found = types.find(name);
    TORCH_CHECK(found != types.end(), "a compiled graph has the dtype '", name, "', which plans do not know");
    return found->second;
}

bool is_tensor_type(const c10::Type& type) {
    if (type.kind() == c10::TypeKind::OptionalType) {
        return is_tensor_type(*type.castRaw<c10::OptionalType>()->getElementType());
    }
    return type.kind() == c10::TypeKind::TensorType;
}

c10::IValue argument_value(const Json& value, const c10::Type& type, const Numbers& numbers) {
    if (value.is_null() || !is_tensor_type(type)) {
        return plain_value(value, type, numbers);
    }
    const c10::Scalar number = numbers.scalar(value);
    at::Tensor tensor =
        at::scalar_tensor(number, at::TensorOptions(at::kCPU).dtype(number.isBoolean()         ? at::kBool
                                                                    : number.isIntegral(false) ? at::kLong
                                                                                               : at::kDouble));
    tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
    return tensor;
}

Operand OperandValues::read(const Json& value, char kind, const Numbers& numbers, c10::DeviceIndex device) {
    Operand operand{};
    operand.sizes = {nullptr, 0};  // the largest member: what is not set below is null
    const bool is_missing = value.is_null();
    switch (kind) {
        case 's':
            if (!is_missing) {
                diopiScalar_t& scalar = scalars_.emplace_back();
                const c10::Scalar number = numbers.scalar(value);
                if (number.isFloatingPoint()) {
                    scalar.stype = diopi_dtype_float64;
                    scalar.fval = number.toDouble();
                } else {
                    scalar.stype = number.isBoolean() ? diopi_dtype_bool : diopi_dtype_int64;
                    scalar.ival = number.isBoolean() ? static_cast<int64_t>(number.toBool()) : number.toLong();
                }
                operand.pointer = &scalar;
            }
            break;
        case 'z':
        case 'Z':
            if (!is_missing) {
                const std::vector<int64_t>& sizes = sizes_.emplace_back(numbers.integers(value));
                const diopiSize_t seen{sizes.data(), static_cast<int64_t>(sizes.size())};
                if (kind == 'z') {
                    operand.sizes = seen;
                } else {
                    operand.pointer = &size_pointers_.emplace_back(seen);
                }
            }
            break;
        case 'g':
            operand.pointer = generator_handle(std::nullopt, device);
            break;
        case 'r':
            operand.integer = static_cast<int64_t>(round_mode(
                is_missing ? std::optional<std::string_view>() : std::optional<std::string_view>(value.text())));
            break;
        case 'c':
            operand.pointer = is_missing ? nullptr : texts_.emplace_back(value.text()).c_str();
            break;
        case 'I':
            operand.pointer = is_missing ? nullptr : stored(integers_, numbers.integer(value));
            break;
        case 'D':
            operand.pointer = is_missing ? nullptr : stored(reals_, numbers.real(value));
            break;
        case 'B':
            operand.pointer = is_missing ? nullptr : stored(booleans_, numbers.boolean(value));
            break;
        case 'd':
            operand.real = numbers.real(value);
            break;
        default:
            operand.integer = numbers.integer(value);
    }
    return operand;
}

}  // namespace diopigen::backend
