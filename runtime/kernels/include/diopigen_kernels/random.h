// Random numbers of a kernel, by element: a function of the seed, the offset of the generator and the index.
//
//     Draws draws(&call, generator);            // after all checks: it advances the generator
//     return run(call, [draws](const Kernel& k) {
//         const RandomBits bits = draws.bits(k);
//         ... bits(i) ...
//
// In a capture of the stream the seed is in memory, which each launch of the graph sets (diopigen/stream_capture.h).
// Inline, as call.h.
#ifndef DIOPIGEN_KERNELS_RANDOM_H_
#define DIOPIGEN_KERNELS_RANDOM_H_

#include <diopi/diopirt.h>
#include <diopigen_kernels/call.h>
#include <diopigen_kernels/kernel.h>

#include <cstdint>

// As diopigen/stream_capture.h declares it; null in a host without captures.
extern "C" int32_t diopigenGetCapturedSeed(diopiGeneratorHandle_t generator, const uint64_t** seed_and_offset)
    __attribute__((weak));

namespace diopigen::kernels {

/// 64 bits for each index, by SplitMix64.
class RandomBits {
  public:
    RandomBits(uint64_t seed, uint64_t offset) : key_(mixed(seed) ^ mixed(offset + kGolden)) {}
    uint64_t operator()(int64_t i) const { return mixed(key_ + kGolden * static_cast<uint64_t>(i)); }
    /// A number in [0, 1) with `digits` bits.
    double unit(int64_t i, int digits = 53) const {
        return static_cast<double>((*this)(i) >> (64 - digits)) / static_cast<double>(uint64_t{1} << digits);
    }

  private:
    static constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
    static uint64_t mixed(uint64_t number) {
        number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
        number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
        return number ^ (number >> 31);
    }

    uint64_t key_;
};

/// The place of one call in the sequence of a generator.
class Draws {
  public:
    Draws(Call* call, diopiGeneratorHandle_t generator) {
        constexpr uint64_t kOffsetPerCall = 4;
        const uint64_t* memory = nullptr;
        if (generator == nullptr ||
            (diopigenGetCapturedSeed != nullptr && diopigenGetCapturedSeed(generator, &memory) != 0)) {
            return;
        }
        isGood_ = diopiGeneratorGetSeedAndOffset(generator, &seed_, &offset_) == diopiSuccess &&
                  diopiGeneratorSetSeedAndOffset(generator, seed_, offset_ + kOffsetPerCall) == diopiSuccess;
        if (memory != nullptr) {
            captured_ = call->add(reads(memory, 2 * sizeof(uint64_t)));
        }
    }

    /// Whether the generator gave a seed.
    bool isGood() const { return isGood_; }
    RandomBits bits(const Kernel& kernel) const {
        if (captured_ < 0) {
            return {seed_, offset_};
        }
        const uint64_t* const memory = kernel.in<uint64_t>(static_cast<std::size_t>(captured_));
        return {memory[0], memory[1] + offset_};
    }

  private:
    bool isGood_ = false;
    uint64_t seed_ = 0;
    uint64_t offset_ = 0;
    int captured_ = -1;  // the buffer of the call
};

}  // namespace diopigen::kernels

#endif  // DIOPIGEN_KERNELS_RANDOM_H_
