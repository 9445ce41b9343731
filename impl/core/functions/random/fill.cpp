// RandomInp and UniformInp.
#include <cmath>
#include <limits>

#include "diopi_core/kernel_checks.h"
#include "random.h"
#include "random_kernels.h"
#include "sample.h"

using namespace diopigen::core;

int64_t diopigen::core::largest_exact(Dtype dtype) {
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

// The largest number of a floating dtype that is below `bound`, a finite number in its range.
double largest_below(Dtype dtype, double bound) {
    struct Format {
        int digits, least_exponent;
    };
    const Format format = dtype == Dtype::kFloat16    ? Format{11, -13}
                          : dtype == Dtype::kBfloat16 ? Format{8, -125}
                          : dtype == Dtype::kFloat32  ? Format{24, -125}
                                                      : Format{53, -1021};
    int exponent = format.least_exponent;
    if (bound != 0) {
        const double fraction = std::frexp(bound, &exponent);
        exponent = std::max(exponent - (fraction == 0.5 ? 1 : 0), format.least_exponent);
    }
    // Above a power of two the numbers are twice as far apart as below it.
    const int step = exponent - format.digits;
    return std::ldexp(std::ceil(std::ldexp(bound, -step)) - 1, step);
}

}  // namespace

void diopigen::entry::random_inp(const RandomInpArgs& args) {
    const Dtype dtype = args.inout.dtype;
    const int64_t exact = largest_exact(dtype);
    int64_t from = args.from, last = args.to ? *args.to - 1 : exact;
    // Beyond `exact` a floating dtype has some of the integers, and others must not be rounded out of the range.
    if (is_floating(dtype) && (from < -exact || from > exact)) {
        from = static_cast<int64_t>(-largest_below(dtype, 1 - static_cast<double>(from)));
    }
    if (is_floating(dtype) && (last < -exact || last > exact)) {
        last = std::max(from, static_cast<int64_t>(largest_below(dtype, 1 + static_cast<double>(last))));
    }
    // 0 stands for all 2^64 values.
    const uint64_t range = static_cast<uint64_t>(last) - static_cast<uint64_t>(from) + 1;
    sample_integers(args.inout, from, range, args.generator);
}

void diopigen::entry::uniform_inp(const UniformInpArgs& args) {
    require_floating({&args.inout});
    const double last = std::max(args.from, largest_below(args.inout.dtype, args.to));
    sample_uniform(args.inout, args.from, args.to, last, args.generator);
}
