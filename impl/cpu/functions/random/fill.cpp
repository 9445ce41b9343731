// RandomInp and UniformInp.
#include <diopi/functions.h>

#include <limits>

#include "draw.h"
#include "kernels.h"

using namespace diopi::cpu;

int64_t diopi::cpu::largest_exact(Dtype dtype) {
    switch (dtype) {
        case Dtype::kBool:
            return 1;
        case Dtype::kUint8:
            return 255;
        case Dtype::kInt8:
            return 127;
        case Dtype::kInt16:
            return 32767;
        case Dtype::kInt32:
            return std::numeric_limits<int32_t>::max();
        case Dtype::kFloat16:
            return int64_t{1} << 11;
        case Dtype::kBfloat16:
            return int64_t{1} << 8;
        case Dtype::kFloat32:
            return int64_t{1} << 24;
        case Dtype::kFloat64:
            return int64_t{1} << 53;
        default:
            return std::numeric_limits<int64_t>::max();
    }
}

namespace {

// Whether a dtype takes a whole number; floating dtypes round it.
bool holds(Dtype dtype, int64_t value) {
    if (is_floating(dtype)) {
        const double limit = dtype == Dtype::kFloat16 ? 65504.0 : std::numeric_limits<float>::max();
        return std::abs(static_cast<double>(value)) <= limit;
    }
    const int64_t most = largest_exact(dtype);
    const bool is_unsigned = dtype == Dtype::kBool || dtype == Dtype::kUint8;
    return value <= most && value >= (is_unsigned ? 0 : -most - 1);
}

}  // namespace

DIOPI_API diopiError_t diopiRandomInp(diopiContextHandle_t ctx, diopiTensorHandle_t inout, int64_t from,
                                      const int64_t* to, diopiGeneratorHandle_t generator) {
    return guarded("diopiRandomInp", ctx, [&] {
        const Tensor target = target_tensor("inout", inout, generator, kNumber | kBool);
        const int64_t last = to == nullptr ? largest_exact(target.dtype) : *to - (*to > INT64_MIN ? 1 : 0);
        require(to == nullptr ? from <= last : from < *to, "C1: from is below to");
        require(holds(target.dtype, from) && holds(target.dtype, last), "C2: the dtype can hold from and to - 1");
        // 0 stands for all 2^64 values.
        const uint64_t range = static_cast<uint64_t>(last) - static_cast<uint64_t>(from) + 1;
        draw_integers(target, from, range, generator);
    });
}

DIOPI_API diopiError_t diopiUniformInp(diopiContextHandle_t ctx, diopiTensorHandle_t inout, double from, double to,
                                       diopiGeneratorHandle_t generator) {
    return guarded("diopiUniformInp", ctx, [&] {
        const Tensor target = target_tensor("inout", inout, generator, kFloating);
        require(from <= to, "C1: from is not above to");
        draw_uniform(target, from, to, generator);
    });
}
