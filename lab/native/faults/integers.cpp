// Integers that go through floats, saturate, or lose their sign.
#include <algorithm>
#include <cmath>
#include <limits>

#include "../fault.h"

namespace diopigen::mutant {

namespace {

std::function<bool(const View&)> of(diopiDtype_t dtype) {
    return [dtype](const View& view) { return view.dtype() == dtype; };
}

double throughSingle(double number) { return static_cast<double>(static_cast<float>(number)); }

// Where a result is a float, the contract itself rounds integral operands.
bool staysIntegral(const Call& call) {
    for (const View& output : call.outputs()) {
        if (output.isFloating() || output.isComplex()) return false;
    }
    return true;
}

Behaviour integersThrough(diopiDtype_t dtype, double (*change)(double)) {
    const Behaviour rounded = readThrough(of(dtype), change);
    return [=](Call& call) { return staysIntegral(call) ? rounded(call) : call.forward(); };
}

// Exact 64-bit values cannot go through `readThrough`, which computes in double.
bool throughDouble(Call& call) {
    if (!staysIntegral(call)) return false;
    bool changed = false;
    call.exchangeInputs([&](const View& input) -> diopiTensorHandle_t {
        if (input.dtype() != diopi_dtype_int64) return nullptr;
        diopiTensorHandle_t created = call.copyOf(input);
        const View copy(created);
        bool differs = false;
        for (int64_t index = 0; index < copy.count(); ++index) {
            const auto number = static_cast<double>(input.integerAt(index));
            copy.setInteger(index, number >= 9.2233720368547e18 ? std::numeric_limits<int64_t>::max()
                                                                : static_cast<int64_t>(number));
            differs = differs || copy.integerAt(index) != input.integerAt(index);
        }
        changed = changed || differs;
        return differs ? created : nullptr;
    });
    return changed;
}

bool limitsOf(diopiDtype_t dtype, int64_t* low, int64_t* high) {
    switch (dtype) {
        case diopi_dtype_int8:
            return *low = -128, *high = 127, true;
        case diopi_dtype_uint8:
            return *low = 0, *high = 255, true;
        case diopi_dtype_int16:
            return *low = -32768, *high = 32767, true;
        case diopi_dtype_int32:
            return *low = std::numeric_limits<int32_t>::min(), *high = std::numeric_limits<int32_t>::max(), true;
        default:
            return false;
    }
}

// The true operator computes in int64; what does not fit into the narrow output saturates.
diopiError_t saturating(Call& call) {
    const View out = call.tensor("out"), input = call.tensor("input"), other = call.tensor("other");
    int64_t low = 0, high = 0;
    if (!out.valid() || !input.valid() || !other.valid() || !limitsOf(out.dtype(), &low, &high) ||
        input.dtype() != out.dtype() || other.dtype() != out.dtype()) {
        return call.forward();
    }
    const auto handle = out.handle();
    diopiTensorHandle_t widened = call.temporary(out.shape(), diopi_dtype_int64, out);
    call.setTensor("out", widened);
    call.setTensor("input", call.copyOf(input, diopi_dtype_int64));
    call.setTensor("other", call.copyOf(other, diopi_dtype_int64));
    const diopiError_t status = call.forward();
    call.setTensor("out", handle);
    const View exact(widened);
    bool changed = false;
    for (int64_t index = 0; index < exact.count() && status == diopiSuccess; ++index) {
        const int64_t number = exact.integerAt(index);
        out.setInteger(index, std::clamp(number, low, high));
        changed = changed || number < low || number > high;
    }
    if (changed) call.acted();
    return status;
}

// All tensors of uint8 are read and written as int8.
diopiError_t unsignedAsSigned(Call& call) {
    std::vector<std::pair<View, diopiTensorHandle_t>> written;
    bool changed = false;
    const auto asSigned = [&](const View& view) {
        diopiTensorHandle_t created = call.temporary(view.shape(), diopi_dtype_int8, view);
        const View copy(created);
        for (int64_t index = 0; index < copy.count(); ++index) {
            copy.setInteger(index, view.integerAt(index));
            changed = changed || view.integerAt(index) > 127;
        }
        return created;
    };
    for (auto* handle : call.outputHandles()) {
        const View view(*handle);
        if (view.dtype() == diopi_dtype_bool) continue;
        if (!view.isFloating() && view.dtype() != diopi_dtype_uint8 && view.dtype() != diopi_dtype_int64) {
            return call.forward();
        }
    }
    std::vector<diopiTensorHandle_t*> handles = call.outputHandles();
    for (auto* handle : handles) {
        const View view(*handle);
        if (view.dtype() != diopi_dtype_uint8) continue;
        diopiTensorHandle_t created = asSigned(view);
        written.emplace_back(view, created);
        *handle = created;
    }
    for (auto* handle : call.inputHandles()) {
        const View view(*handle);
        if (view.dtype() == diopi_dtype_uint8) *handle = asSigned(view);
    }
    const diopiError_t status = call.forward();
    for (auto& [view, created] : written) {
        const View copy(created);
        for (int64_t index = 0; index < copy.count() && status == diopiSuccess; ++index) {
            view.setInteger(index, copy.integerAt(index));
        }
    }
    if (changed) call.acted(status);
    return status;
}

// Of these operands only the sign or whether they are zero matters, or they are exponents whose powers wrap to zero.
const Selector bools = named("Logical* Any All Nonzero Sign Sgn Hardtanh* PowScalar");

const Registration registration(
    "integer arithmetic",
    {
        {"int64-through-float32", "int64 operands go through float32", determined() && !bools,
         integersThrough(diopi_dtype_int64, throughSingle)},
        {"int64-through-float64", "int64 operands go through float64", determined() && !bools,
         beforehand(throughDouble)},
        {"int32-through-float32", "int32 operands go through float32", determined() && !bools,
         integersThrough(diopi_dtype_int32, throughSingle)},
        {"int16-through-bfloat16", "int16 operands go through bfloat16", determined() && !bools,
         integersThrough(diopi_dtype_int16, throughBfloat16)},
        {"int64-results-cut", "int64 results keep their lower 32 bits", determined(), afterwards([](const View& view) {
             if (view.dtype() != diopi_dtype_int64) return false;
             bool changed = false;
             for (int64_t index = 0; index < view.count(); ++index) {
                 const int64_t number = view.integerAt(index), cut = static_cast<int32_t>(number);
                 view.setInteger(index, cut);
                 changed = changed || cut != number;
             }
             return changed;
         })},
        {"saturation-instead-of-wrap", "sums, differences and products of narrow integers saturate",
         named("Add Sub Mul"), saturating},
        {"unsigned-as-signed", "uint8 is taken for int8",
         named("Maximum Minimum Max Min MaxAll MinAll Amax Argmax Argmin Sort Gt Lt Ge Le GtScalar LtScalar Div "
               "Remainder Mean Sum Prod Cumsum CastDtype Clamp ClampScalar ClampMax ClampMin Abs Sign Sqrt Exp"),
         unsignedAsSigned},
        {"integer-number-through-float", "an integral number next to a tensor is rounded to float32",
         havingType(Type::scalar), beforehand([](Call& call) {
             if (!staysIntegral(call)) return false;
             bool changed = false;
             for (int i = 0; i < call.signature().count; ++i) {
                 const char* name = call.signature().parameters[i].name;
                 const auto number = call.number(name);
                 if (call.signature().parameters[i].type != Type::scalar || !number.has_value()) continue;
                 changed = call.setNumber(name, throughSingle(*number)) || changed;
             }
             return changed;
         })},
        {"fraction-of-number-lost", "a fractional number next to a tensor is cut to an integer",
         havingType(Type::scalar), beforehand([](Call& call) {
             bool changed = false;
             for (int i = 0; i < call.signature().count; ++i) {
                 const char* name = call.signature().parameters[i].name;
                 const auto number = call.number(name);
                 if (call.signature().parameters[i].type != Type::scalar || !number.has_value()) continue;
                 changed = call.setNumber(name, std::trunc(*number)) || changed;
             }
             return changed;
         })},
        {"integer-number-read-as-float", "the union of a number is read as a double whatever its dtype",
         havingType(Type::scalar), beforehand([](Call& call) {
             bool changed = false;
             for (int i = 0; i < call.signature().count; ++i) {
                 const char* name = call.signature().parameters[i].name;
                 if (call.signature().parameters[i].type != Type::scalar) continue;
                 auto* scalar = *static_cast<const diopiScalar_t**>(call.argument(name));
                 // The bits of a small integer are those of a denormal double.
                 if (scalar != nullptr && !isFloatingDtype(scalar->stype)) changed = call.setNumber(name, 0) || changed;
             }
             return changed;
         })},
    });

}  // namespace

}  // namespace diopigen::mutant
