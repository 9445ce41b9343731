#include "text.h"

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <vector>

#include "dtypes.h"
#include "tensor.h"

namespace diopigen::contract {

namespace {

std::string text_of_tensor(diopiConstTensorHandle_t tensor) {
    return tensor == nullptr ? "none" : (is_sparse(tensor) ? "sparse " : "") + describe(inspect(tensor));
}

std::string text_of_tensors(const Operand& operand) {
    if (operand.handles() == nullptr) {
        return "none";
    }
    std::string text = "[";
    for (int64_t i = 0; i < operand.count; ++i) {
        text += (i > 0 ? ", " : "") + text_of_tensor(operand.handles()[i]);
    }
    return text + "]";
}

std::string text_of_scalar(const diopiScalar_t& scalar) {
    return is_floating(scalar.stype) ? text_of(scalar.fval) : std::to_string(scalar.ival);
}

std::string text_of_sizes(const diopiSize_t& sizes) {
    return text_of(std::vector<int64_t>(sizes.data, sizes.data + sizes.len), "(", ")");
}

}  // namespace

std::string text_of(double number) {
    char text[40];
    std::snprintf(text, sizeof(text), "%.9g", number);
    return text;
}

std::string text_of(const Operand& operand) {
    switch (operand.kind) {
        case Kind::kTensor:
            return text_of_tensor(operand.handle());
        case Kind::kTensors:
            return text_of_tensors(operand);
        case Kind::kAllocated:
            return "new";
        default:
            break;
    }
    const void* const value = operand.value();
    if (value == nullptr) {
        return "none";
    }
    switch (operand.kind) {
        case Kind::kBoolean:
            return *static_cast<const bool*>(value) ? "true" : "false";
        case Kind::kInteger:
            return std::to_string(operand.integer());
        case Kind::kReal:
            return text_of(operand.real());
        case Kind::kScalar:
            return text_of_scalar(*static_cast<const diopiScalar_t*>(value));
        case Kind::kSizes:
            return text_of_sizes(*static_cast<const diopiSize_t*>(value));
        case Kind::kText: {
            const char* const text = *static_cast<const char* const*>(value);
            return text == nullptr ? "none" : "'" + std::string(text) + "'";
        }
        case Kind::kGenerator:
            return "generator";
        default:
            return "?";
    }
}

std::string text_of(Operands operands) {
    std::string text;
    for (const Operand& operand : operands) {
        text += (text.empty() ? "" : ", ") + std::string(operand.name) + "=" +
                (operand.is_written() && operand.points ? "pointer" : text_of(operand));
    }
    return text;
}

}  // namespace diopigen::contract
