// RandomInp, UniformInp and NormalInp. Element i, in row-major order, is made of the words of Philox4x32-10 for the
// generator's seed and the counter (i, offset): the same for every number of threads and all strides. Afterwards the
// generator's offset has grown by four words.
#include <diopi/functions.h>

#include <cmath>
#include <limits>

#include "diopi_cpu/dense.h"
#include "diopi_cpu/philox.h"
#include "diopi_cpu/threads.h"

using namespace diopi::cpu;

namespace {

constexpr uint64_t kWordsPerElement = 4;

uint64_t word64(const std::array<uint32_t, 4>& words, int k) {
    return uint64_t{words[2 * k]} | uint64_t{words[2 * k + 1]} << 32;
}

// A number in [0, 1) with 53 random bits.
double unit(const std::array<uint32_t, 4>& words, int k) {
    return static_cast<double>(word64(words, k) >> 11) * 0x1p-53;
}

// Fills a tensor through `make(words)`, which gives a value of type T.
template <typename T, typename Make>
void draw(const Tensor& target, diopiGeneratorHandle_t generator, Make&& make) {
    uint64_t seed = 0;
    uint64_t offset = 0;
    require(diopiGeneratorGetSeedAndOffset(generator, &seed, &offset) == diopiSuccess,
            "parameter 'generator' gives no seed");
    const Output<T> values(target);
    parallel_for(target.numel, 8192, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            values[i] = make(philox(seed, static_cast<uint64_t>(i), offset));
        }
    });
    require(diopiGeneratorSetSeedAndOffset(generator, seed, offset + kWordsPerElement) == diopiSuccess,
            "parameter 'generator' takes no offset");
    values.store();
}

Tensor target_tensor(diopiTensorHandle_t inout, diopiGeneratorHandle_t generator, DtypeSet allowed) {
    const Tensor target = tensor("inout", inout, allowed);
    require(generator != nullptr, "parameter 'generator' is null");
    require_no_overlap(target);
    return target;
}

// One more than the largest whole number up to which a dtype holds all exactly, less 1: the largest draw.
int64_t largest_exact(Dtype dtype) {
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

DIOPI_API diopiError_t diopiRandomInp(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t inout, int64_t from,
                                      const int64_t* to, diopiGeneratorHandle_t generator) {
    return guarded("diopiRandomInp", [&] {
        const Tensor target = target_tensor(inout, generator, kNumber | kBool);
        const int64_t last = to == nullptr ? largest_exact(target.dtype) : *to - (*to > INT64_MIN ? 1 : 0);
        require(to == nullptr ? from <= last : from < *to, "C1: from is below to");
        require(holds(target.dtype, from) && holds(target.dtype, last), "C2: the dtype can hold from and to - 1");
        // 0 stands for all 2^64 values.
        const uint64_t range = static_cast<uint64_t>(last) - static_cast<uint64_t>(from) + 1;
        draw<Int64>(target, generator, [from, range](const std::array<uint32_t, 4>& words) {
            // The high half of word * range: as even as 64 bits allow, without a division.
            const uint64_t word = word64(words, 0);
            __extension__ using Wide = unsigned __int128;
            const uint64_t place = range == 0 ? word : static_cast<uint64_t>((static_cast<Wide>(word) * range) >> 64);
            return Int64(static_cast<int64_t>(static_cast<uint64_t>(from) + place));
        });
    });
}

DIOPI_API diopiError_t diopiUniformInp(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t inout, double from, double to,
                                       diopiGeneratorHandle_t generator) {
    return guarded("diopiUniformInp", [&] {
        const Tensor target = target_tensor(inout, generator, kFloating);
        require(from <= to, "C1: from is not above to");
        draw<double>(target, generator,
                     [from, to](const std::array<uint32_t, 4>& words) { return from + (to - from) * unit(words, 0); });
    });
}

DIOPI_API diopiError_t diopiNormalInp(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t inout, double mean, double std,
                                      diopiGeneratorHandle_t generator) {
    return guarded("diopiNormalInp", [&] {
        const Tensor target = target_tensor(inout, generator, kFloating | kComplex);
        require(std >= 0, "C1: std is not negative");
        // Box and Muller's pair: two independent draws with mean 0 and variance 1.
        const auto normal = [](const std::array<uint32_t, 4>& words) {
            const double length = std::sqrt(-2 * std::log1p(-unit(words, 0)));
            const double angle = 6.283185307179586 * unit(words, 1);
            return Complex128(length * std::cos(angle), length * std::sin(angle));
        };
        if (is_complex(target.dtype)) {
            const double part = std / std::sqrt(2.0);
            draw<Complex128>(target, generator, [=](const std::array<uint32_t, 4>& words) {
                return Complex128(mean, 0) + part * normal(words);
            });
        } else {
            draw<double>(target, generator,
                         [=](const std::array<uint32_t, 4>& words) { return mean + std * normal(words).real(); });
        }
    });
}
