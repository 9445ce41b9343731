#include <diopigen_kernels/chip.h>
#include <diopigen_kernels/describe.h>

namespace diopigen::kernels {
namespace {

struct NamedBit {
    uint32_t bit;
    const char* name;
};

constexpr NamedBit kDtypes[] = {
    {bitOf(diopi_dtype_int8), "int8"},
    {bitOf(diopi_dtype_uint8), "uint8"},
    {bitOf(diopi_dtype_int16), "int16"},
    {bitOf(diopi_dtype_uint16), "uint16"},
    {bitOf(diopi_dtype_int32), "int32"},
    {bitOf(diopi_dtype_uint32), "uint32"},
    {bitOf(diopi_dtype_int64), "int64"},
    {bitOf(diopi_dtype_uint64), "uint64"},
    {bitOf(diopi_dtype_float16), "float16"},
    {bitOf(diopi_dtype_float32), "float32"},
    {bitOf(diopi_dtype_float64), "float64"},
    {bitOf(diopi_dtype_bool), "bool"},
    {bitOf(diopi_dtype_bfloat16), "bfloat16"},
    {bitOf(diopi_dtype_tfloat32), "tfloat32"},
    {bitOf(diopi_dtype_complex32), "complex32"},
    {bitOf(diopi_dtype_complex64), "complex64"},
    {bitOf(diopi_dtype_complex128), "complex128"},
};

}  // namespace

std::string dtypeName(diopiDtype_t dtype) {
    const std::string name = dtypeNames(bitOf(dtype));
    return name.empty() ? "dtype " + std::to_string(static_cast<int>(dtype)) : name;
}

std::string dtypeNames(uint32_t mask) {
    std::string names;
    for (const NamedBit& dtype : kDtypes) {
        if ((mask & dtype.bit) != 0) {
            names += (names.empty() ? "" : ", ") + std::string(dtype.name);
        }
    }
    return names;
}

std::string describe(const Shape& sizes) {
    std::string text = "[";
    for (const int64_t size : sizes) {
        text += (text.size() > 1 ? ", " : "") + std::to_string(size);
    }
    return text + "]";
}

std::string describe(const Buffer& tensor) { return dtypeName(tensor.dtype) + " " + describe(tensor.shape); }

}  // namespace diopigen::kernels
