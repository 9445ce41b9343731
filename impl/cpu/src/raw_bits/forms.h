// Philox4x32-10 for the counters of two vectors of lanes. Each instruction set has a file that includes this below
// `#pragma GCC target`, as those of vector_math do. A value of 32 bits is the lower half of a lane of 64: the product
// of two lower halves is one instruction, and what is above them counts nowhere.
#if !defined(DIOPI_CPU_VECTOR_BYTES)
#error define DIOPI_CPU_VECTOR_BYTES: 32 or 64, and DIOPI_CPU_RAW_BITS: the function of levels.h
#endif

namespace diopigen::core::detail {
namespace {

typedef uint64_t Lanes __attribute__((vector_size(DIOPI_CPU_VECTOR_BYTES)));
typedef uint32_t LowerHalves __attribute__((vector_size(DIOPI_CPU_VECTOR_BYTES / 2)));
constexpr int64_t kLanes = DIOPI_CPU_VECTOR_BYTES / 8;
static_assert(kFewSamples % (2 * kLanes) == 0);

// Of the lower halves.
inline Lanes product(const Lanes& a, const Lanes& b) {
#if DIOPI_CPU_VECTOR_BYTES == 64
    // The form with a mask: of the other GCC 12 says that it reads what is not initialized.
    return reinterpret_cast<Lanes>(
        _mm512_maskz_mul_epu32(0xff, reinterpret_cast<__m512i>(a), reinterpret_cast<__m512i>(b)));
#else
    return reinterpret_cast<Lanes>(_mm256_mul_epu32(reinterpret_cast<__m256i>(a), reinterpret_cast<__m256i>(b)));
#endif
}

inline Lanes all(uint64_t value) { return Lanes{} + value; }

}  // namespace

void DIOPI_CPU_RAW_BITS(RawBits& bits, int64_t length, const Stream& stream, int64_t first) {
    Lanes steps;
    for (int64_t k = 0; k < kLanes; ++k) {
        steps[k] = static_cast<uint64_t>(k);
    }
    for (int64_t i = 0; i < length; i += 2 * kLanes) {
        Lanes counters[4][2];
        for (int h = 0; h < 2; ++h) {
            counters[0][h] = steps + static_cast<uint64_t>(first + i + h * kLanes);
            counters[1][h] = counters[0][h] >> 32;
            counters[2][h] = all(stream.offset());
            counters[3][h] = counters[2][h] >> 32;
        }
        Lanes key0 = all(stream.seed());
        Lanes key1 = key0 >> 32;
        for (int round = 0; round < kPhiloxRounds; ++round) {
            for (int h = 0; h < 2; ++h) {
                const Lanes product0 = product(all(kPhiloxFactor0), counters[0][h]);
                const Lanes product1 = product(all(kPhiloxFactor1), counters[2][h]);
                counters[0][h] = product1 >> 32 ^ counters[1][h] ^ key0;
                counters[1][h] = product1;
                counters[2][h] = product0 >> 32 ^ counters[3][h] ^ key1;
                counters[3][h] = product0;
            }
            key0 += kPhiloxStep0;
            key1 += kPhiloxStep1;
        }
        for (int w = 0; w < 4; ++w) {
            for (int h = 0; h < 2; ++h) {
                const LowerHalves halves = __builtin_convertvector(counters[w][h], LowerHalves);
                std::memcpy(&bits[w][i + h * kLanes], &halves, sizeof(halves));
            }
        }
    }
}

}  // namespace diopigen::core::detail
