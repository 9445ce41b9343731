// RandomInp and UniformInp.
#include <limits>

#include "diopi_core/kernel_checks.h"
#include "kernels.h"
#include "random.h"
#include "sample.h"

using namespace diopi::core;

int64_t diopi::core::largest_exact(Dtype dtype) {
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

void diopi::kernels::random_inp(const RandomInpArgs& args) {
    const int64_t last = args.to ? *args.to - 1 : largest_exact(args.inout.dtype);
    // 0 stands for all 2^64 values.
    const uint64_t range = static_cast<uint64_t>(last) - static_cast<uint64_t>(args.from) + 1;
    sample_integers(args.inout, args.from, range, args.generator);
}

void diopi::kernels::uniform_inp(const UniformInpArgs& args) {
    require_floating({&args.inout});
    sample_uniform(args.inout, args.from, args.to, args.generator);
}
