// Conversion of contiguous blocks between all pairs of dtypes: one loop each, in a table.
#include <array>
#include <cstring>

#include "diopi_core/cast.h"
#include "diopi_core/clones.h"
#include "diopi_core/strided.h"
#include "diopi_cpu/half_convert.h"

namespace diopigen::core {

using namespace cpu;

namespace {

using Converter = void (*)(const void*, void*, int64_t);
using Row = std::array<Converter, kDtypeCount>;

template <typename From, typename To>
DIOPI_CPU_CLONES void convert_block(const void* from, void* to, int64_t count) {
    const From* __restrict source = static_cast<const From*>(from);
    To* __restrict target = static_cast<To*>(to);
    for (int64_t i = 0; i < count; ++i) {
        target[i] = cast<To>(source[i]);
    }
}

template <typename From>
constexpr Row row() {
    return {convert_block<From, Bool>,   convert_block<From, Uint8>,     convert_block<From, Int8>,
            convert_block<From, Int16>,  convert_block<From, Int32>,     convert_block<From, Int64>,
            convert_block<From, Half>,   convert_block<From, Bfloat16>,  convert_block<From, float>,
            convert_block<From, double>, convert_block<From, Complex64>, convert_block<From, Complex128>};
}

constexpr std::array<Row, kDtypeCount> kConverters = {row<Bool>(),  row<Uint8>(),  row<Int8>(),      row<Int16>(),
                                                      row<Int32>(), row<Int64>(),  row<Half>(),      row<Bfloat16>(),
                                                      row<float>(), row<double>(), row<Complex64>(), row<Complex128>()};

}  // namespace

void convert(Dtype from_dtype, const void* from, Dtype to_dtype, void* to, int64_t count) {
    if (from_dtype == to_dtype && from_dtype != Dtype::kBool) {
        std::memcpy(to, from, static_cast<size_t>(count * size_of(to_dtype)));
    } else if (from_dtype == Dtype::kFloat16 && to_dtype == Dtype::kFloat32 && has_half_instructions()) {
        widen(static_cast<const Half*>(from), static_cast<float*>(to), count);
    } else if (from_dtype == Dtype::kFloat32 && to_dtype == Dtype::kFloat16 && has_half_instructions()) {
        narrow(static_cast<const float*>(from), static_cast<Half*>(to), count);
    } else {
        kConverters[static_cast<int>(from_dtype)][static_cast<int>(to_dtype)](from, to, count);
    }
}

}  // namespace diopigen::core
