// Philox4x32-10, the counter-based generator of Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011).
#ifndef DIOPI_CORE_PHILOX_H_
#define DIOPI_CORE_PHILOX_H_

#include <array>
#include <cstdint>

#include "diopi_core/host_device.h"

namespace diopigen::core {

constexpr int kPhiloxRounds = 10;
constexpr uint32_t kPhiloxFactor0 = 0xD2511F53;
constexpr uint32_t kPhiloxFactor1 = 0xCD9E8D57;
constexpr uint32_t kPhiloxStep0 = 0x9E3779B9;  // of the key, from round to round
constexpr uint32_t kPhiloxStep1 = 0xBB67AE85;

// Four random values of 32 bits for a seed (the key) and a counter of 128 bits, passed as its low and high half.
DIOPI_HOST_DEVICE inline std::array<uint32_t, 4> philox(uint64_t seed, uint64_t low, uint64_t high) {
    std::array<uint32_t, 4> c = {static_cast<uint32_t>(low), static_cast<uint32_t>(low >> 32),
                                 static_cast<uint32_t>(high), static_cast<uint32_t>(high >> 32)};
    auto key0 = static_cast<uint32_t>(seed);
    auto key1 = static_cast<uint32_t>(seed >> 32);
    for (int round = 0; round < kPhiloxRounds; ++round) {
        const uint64_t product0 = uint64_t{kPhiloxFactor0} * c[0];
        const uint64_t product1 = uint64_t{kPhiloxFactor1} * c[2];
        c = {static_cast<uint32_t>(product1 >> 32) ^ c[1] ^ key0, static_cast<uint32_t>(product1),
             static_cast<uint32_t>(product0 >> 32) ^ c[3] ^ key1, static_cast<uint32_t>(product0)};
        key0 += kPhiloxStep0;
        key1 += kPhiloxStep1;
    }
    return c;
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_PHILOX_H_
