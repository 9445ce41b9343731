#include "values.h"

#include <diopigen/dtypes.h>

#include <cstring>

namespace diopigen::ffi {
namespace {

const char* type_name(int32_t index) {
    switch (index) {
        case kTVMFFINone:
            return "None";
        case kTVMFFIInt:
            return "an integer";
        case kTVMFFIBool:
            return "a bool";
        case kTVMFFIFloat:
            return "a float";
        case kTVMFFIOpaquePtr:
            return "an opaque pointer";
        case kTVMFFIDataType:
            return "a dtype";
        case kTVMFFIDevice:
            return "a device";
        case kTVMFFIDLTensorPtr:
        case kTVMFFITensor:
            return "a tensor";
        case kTVMFFIRawStr:
        case kTVMFFISmallStr:
        case kTVMFFIStr:
            return "a text";
        case kTVMFFIShape:
            return "a shape";
        case kTVMFFIArray:
        case kTVMFFIList:
            return "a list";
        default:
            return "an object of another type";
    }
}

/// What follows the header of an object.
template <class Cell>
const Cell& cell_of(const TVMFFIAny& value) {
    return *reinterpret_cast<const Cell*>(reinterpret_cast<const char*>(value.v_obj) + sizeof(TVMFFIObject));
}

bool is_floating(diopiDtype_t dtype) { return dtype_category(dtype) == 2; }

}  // namespace

void Argument::fail(const char* kind, const std::string& what) const {
    throw Failure{kind, std::string("parameter '") + name + "': " + what};
}

void Argument::reject(const char* expected) const {
    fail("TypeError", std::string(expected) + " is expected, not " + type_name(value->type_index));
}

int64_t Argument::integer() const {
    if (value->type_index != kTVMFFIInt && value->type_index != kTVMFFIBool) {
        reject("an integer");
    }
    return value->v_int64;
}

double Argument::real() const {
    if (value->type_index == kTVMFFIFloat) {
        return value->v_float64;
    }
    if (value->type_index != kTVMFFIInt && value->type_index != kTVMFFIBool) {
        reject("a number");
    }
    return static_cast<double>(value->v_int64);
}

bool Argument::boolean() const {
    if (value->type_index != kTVMFFIInt && value->type_index != kTVMFFIBool) {
        reject("a bool");
    }
    return value->v_int64 != 0;
}

Scalar::Scalar(const Argument& argument) {
    const TVMFFIAny* value = argument.value;
    switch (value->type_index) {
        case kTVMFFINone:
            given_ = false;
            return;
        case kTVMFFIFloat:
            value_.stype = diopi_dtype_float64;
            break;
        case kTVMFFIInt:
            value_.stype = diopi_dtype_int64;
            break;
        case kTVMFFIBool:
            value_.stype = diopi_dtype_bool;
            break;
        case kTVMFFIArray:
        case kTVMFFIList: {
            const List list = List::of(argument, "a number");
            if (list.size != 2 || list.data[1].type_index != kTVMFFIDataType) {
                argument.fail("TypeError", "a list that stands for a number has two elements, a number and its dtype");
            }
            value_.stype = dtype_of(list.data[1].v_dtype);
            if (value_.stype == diopi_dtype_unsupported) {
                argument.fail("TypeError", "the interface has no such dtype");
            }
            value = list.data;
            break;
        }
        default:
            argument.reject("a number");
    }
    const Argument number{value, argument.name};
    if (is_floating(value_.stype)) {
        value_.fval = number.real();
    } else {
        value_.ival = number.integer();
    }
}

List List::of(const Argument& argument, const char* expected) {
    if (argument.value->type_index != kTVMFFIArray && argument.value->type_index != kTVMFFIList) {
        argument.reject(expected);
    }
    const auto& cell = cell_of<TVMFFISeqCell>(*argument.value);
    return {static_cast<const TVMFFIAny*>(cell.data), cell.size};
}

Sizes::Sizes(const Argument& argument) {
    const TVMFFIAny& value = *argument.value;
    if (value.type_index == kTVMFFINone) {
        given_ = false;
        return;
    }
    if (value.type_index == kTVMFFIShape) {
        const auto& cell = cell_of<TVMFFIShapeCell>(value);
        sizes_ = {cell.data, static_cast<int64_t>(cell.size)};
        return;
    }
    if (value.type_index == kTVMFFIInt) {
        few_[0] = value.v_int64;
        sizes_ = {few_.data(), 1};
        return;
    }
    const List list = List::of(argument, "a list of integers");
    int64_t* numbers = few_.data();
    if (list.size > kInlineSize) {
        many_.resize(static_cast<size_t>(list.size));
        numbers = many_.data();
    }
    for (int64_t k = 0; k < list.size; ++k) {
        numbers[k] = Argument{list.data + k, argument.name}.integer();
    }
    sizes_ = {list.size == 0 ? nullptr : numbers, list.size};
}

Text::Text(const Argument& argument) {
    const TVMFFIAny& value = *argument.value;
    switch (value.type_index) {
        case kTVMFFINone:
            given_ = false;
            break;
        case kTVMFFIRawStr:
            text_ = value.v_c_str;
            break;
        case kTVMFFISmallStr:
            text_.assign(value.v_bytes, value.small_str_len);
            break;
        case kTVMFFIStr: {
            const auto& bytes = cell_of<TVMFFIByteArray>(value);
            text_.assign(bytes.data, bytes.size);
            break;
        }
        default:
            argument.reject("a text");
    }
}

diopiDtype_t dtype_of(DLDataType type) {
    for (int row = 0; row < kDtypeCount; ++row) {
        const DtypeFacts& facts = kDtypeFacts[row];
        if (facts.dlpack == type.code && 8 * facts.bytes == type.bits && type.lanes == 1) {
            return facts.dtype;
        }
    }
    return diopi_dtype_unsupported;
}

DLDataType dlpack_of(diopiDtype_t dtype) {
    const DtypeFacts& facts = dtype_facts(dtype);
    if (facts.dlpack >= 0) {
        return {static_cast<uint8_t>(facts.dlpack), static_cast<uint8_t>(8 * facts.bytes), 1};
    }
    throw Failure{"TypeError", "DLPack has no code for the dtype " + std::to_string(static_cast<int>(dtype))};
}

}  // namespace diopigen::ffi
