// The dtype that operands of several dtypes are computed in: the rules of the interface, which are PyTorch's.
#ifndef DIOPIGEN_ADAPTOR_COMPOSITE_PROMOTION_H_
#define DIOPIGEN_ADAPTOR_COMPOSITE_PROMOTION_H_

#include <diopi/diopirt.h>

#include <initializer_list>

namespace diopigen {
namespace adaptor {
namespace {

enum class Category { boolean, integral, floating, complex };

// A dtype among those of its category: its bytes, and whether it holds negative numbers.
struct DtypeTraits {
    Category category;
    int bytes;
    bool isSigned;
};

inline DtypeTraits traitsOf(diopiDtype_t dtype) {
    switch (dtype) {
        case diopi_dtype_int8:
            return {Category::integral, 1, true};
        case diopi_dtype_uint8:
            return {Category::integral, 1, false};
        case diopi_dtype_int16:
            return {Category::integral, 2, true};
        case diopi_dtype_uint16:
            return {Category::integral, 2, false};
        case diopi_dtype_int32:
            return {Category::integral, 4, true};
        case diopi_dtype_uint32:
            return {Category::integral, 4, false};
        case diopi_dtype_int64:
            return {Category::integral, 8, true};
        case diopi_dtype_uint64:
            return {Category::integral, 8, false};
        case diopi_dtype_float16:
        case diopi_dtype_bfloat16:
            return {Category::floating, 2, true};
        case diopi_dtype_float32:
        case diopi_dtype_tfloat32:
            return {Category::floating, 4, true};
        case diopi_dtype_float64:
            return {Category::floating, 8, true};
        case diopi_dtype_complex32:
            return {Category::complex, 4, true};
        case diopi_dtype_complex64:
            return {Category::complex, 8, true};
        case diopi_dtype_complex128:
            return {Category::complex, 16, true};
        default:
            return {Category::boolean, 1, false};
    }
}

inline diopiDtype_t signedOf(int bytes) {
    return bytes <= 1   ? diopi_dtype_int8
           : bytes == 2 ? diopi_dtype_int16
           : bytes == 4 ? diopi_dtype_int32
                        : diopi_dtype_int64;
}

inline diopiDtype_t complexOf(int bytesOfReal) {
    return bytesOfReal == 2 ? diopi_dtype_complex32 : bytesOfReal == 4 ? diopi_dtype_complex64 : diopi_dtype_complex128;
}

inline diopiDtype_t promotedPair(diopiDtype_t left, diopiDtype_t right) {
    if (left == right) {
        return left;
    }
    const DtypeTraits a = traitsOf(left);
    const DtypeTraits b = traitsOf(right);
    if (a.category < b.category) {
        return promotedPair(right, left);
    }
    if (a.category == Category::complex && b.category >= Category::floating) {
        const int real = b.category == Category::complex ? b.bytes / 2 : b.bytes;
        return real > a.bytes / 2 ? complexOf(real) : left;
    }
    if (a.category != b.category) {
        return left;
    }
    if (a.category == Category::floating) {
        return a.bytes == b.bytes ? diopi_dtype_float32 : (a.bytes > b.bytes ? left : right);
    }
    const DtypeTraits& wider = a.bytes >= b.bytes ? a : b;
    if (a.isSigned == b.isSigned || (wider.isSigned && a.bytes != b.bytes)) {
        return a.bytes >= b.bytes ? left : right;
    }
    return signedOf(2 * wider.bytes);
}

// A tensor with dimensions counts before one without, and that before a number: what comes later can raise the
// category, but does not widen within it.
struct Operand {
    diopiDtype_t dtype;
    int level;
};

inline diopiDtype_t promoted(std::initializer_list<Operand> operands) {
    diopiDtype_t result = diopi_dtype_unsupported;
    for (int level = 0; level < 3; ++level) {
        diopiDtype_t own = diopi_dtype_unsupported;
        for (const Operand& operand : operands) {
            if (operand.level == level && operand.dtype != diopi_dtype_unsupported) {
                own = own == diopi_dtype_unsupported ? operand.dtype : promotedPair(own, operand.dtype);
            }
        }
        if (own == diopi_dtype_unsupported) {
            continue;
        }
        if (result == diopi_dtype_unsupported) {
            result = own;
        } else if (traitsOf(own).category > traitsOf(result).category) {
            const bool keepsWidth =
                traitsOf(own).category == Category::complex && traitsOf(result).category == Category::floating;
            result = keepsWidth ? complexOf(traitsOf(result).bytes) : own;
        }
    }
    return result;
}

}  // namespace
}  // namespace adaptor
}  // namespace diopigen

#endif  // DIOPIGEN_ADAPTOR_COMPOSITE_PROMOTION_H_
