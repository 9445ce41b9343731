#include "text.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <vector>

#include "dtypes.h"
#include "tensor.h"

namespace diopigen::contract {

namespace {

std::string textOfTensor(diopiConstTensorHandle_t tensor) {
    return tensor == nullptr ? "none" : (isSparse(tensor) ? "sparse " : "") + describe(inspect(tensor));
}

std::string textOfTensors(const Operand& operand) {
    if (operand.handles() == nullptr) {
        return "none";
    }
    std::string text = "[";
    for (int64_t i = 0; i < operand.count; ++i) {
        text += (i > 0 ? ", " : "") + textOfTensor(operand.handles()[i]);
    }
    return text + "]";
}

std::string textOfScalar(const diopiScalar_t& scalar) {
    return isFloating(scalar.stype) ? textOf(scalar.fval) : std::to_string(scalar.ival);
}

std::string textOfSizes(const diopiSize_t& sizes) {
    return textOf(std::vector<int64_t>(sizes.data, sizes.data + sizes.len), "(", ")");
}

}  // namespace

std::string textOf(double number) {
    char text[40];
    std::snprintf(text, sizeof(text), "%.9g", number);
    return text;
}

std::string textOf(const Operand& operand) {
    switch (operand.kind) {
        case Kind::tensor:
            return textOfTensor(operand.handle());
        case Kind::tensors:
            return textOfTensors(operand);
        case Kind::allocated:
            return "new";
        default:
            break;
    }
    const void* const value = operand.value();
    if (value == nullptr) {
        return "none";
    }
    switch (operand.kind) {
        case Kind::boolean:
            return *static_cast<const bool*>(value) ? "true" : "false";
        case Kind::integer:
            return std::to_string(operand.integer());
        case Kind::real:
            return textOf(operand.real());
        case Kind::scalar:
            return textOfScalar(*static_cast<const diopiScalar_t*>(value));
        case Kind::sizes:
            return textOfSizes(*static_cast<const diopiSize_t*>(value));
        case Kind::text: {
            const char* const text = *static_cast<const char* const*>(value);
            return text == nullptr ? "none" : "'" + std::string(text) + "'";
        }
        case Kind::generator:
            return "generator";
        default:
            return "?";
    }
}

std::string textOf(Operands operands) {
    std::string text;
    for (const Operand& operand : operands) {
        text += (text.empty() ? "" : ", ") + std::string(operand.name) + "=" +
                (operand.isWritten() && operand.points ? "pointer" : textOf(operand));
    }
    return text;
}

}  // namespace diopigen::contract
