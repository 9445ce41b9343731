// How random operators draw. Element i, in row-major order, is made of the words of Philox4x32-10 for the generator's
// seed and the counter (i, offset): the same for every number of threads and all strides. Afterwards the generator's
// offset has grown by four words.
#ifndef DIOPI_CPU_DRAW_H_
#define DIOPI_CPU_DRAW_H_

#include <array>
#include <cmath>

#include "diopi_cpu/dense.h"
#include "diopi_cpu/philox.h"
#include "diopi_cpu/threads.h"

namespace diopi::cpu {

using Words = std::array<uint32_t, 4>;

inline uint64_t word64(const Words& words, int k) { return uint64_t{words[2 * k]} | uint64_t{words[2 * k + 1]} << 32; }

// A number in [0, 1) with 53 random bits.
inline double unit(const Words& words, int k) { return static_cast<double>(word64(words, k) >> 11) * 0x1p-53; }

// A whole number below `range`, or any of 64 bits where it is 0: the high half of word * range, as even as 64 bits
// allow, without a division.
inline uint64_t below(uint64_t range, const Words& words, int k) {
    __extension__ using Wide = unsigned __int128;
    const uint64_t word = word64(words, k);
    return range == 0 ? word : static_cast<uint64_t>((static_cast<Wide>(word) * range) >> 64);
}

// Box and Muller's pair: two independent draws with mean 0 and variance 1.
inline Complex128 normal_pair(const Words& words) {
    const double length = std::sqrt(-2 * std::log1p(-unit(words, 0)));
    const double angle = 6.283185307179586 * unit(words, 1);
    return Complex128(length * std::cos(angle), length * std::sin(angle));
}

inline void require_generator(diopiGeneratorHandle_t generator) {
    require(generator != nullptr, "parameter 'generator' is null");
}

// The words of one call.
class Stream {
  public:
    explicit Stream(diopiGeneratorHandle_t generator) : generator_(generator) {
        require(diopiGeneratorGetSeedAndOffset(generator, &seed_, &offset_) == diopiSuccess,
                "parameter 'generator' gives no seed");
    }
    Words operator()(int64_t i) const { return philox(seed_, static_cast<uint64_t>(i), offset_); }
    // To be called before anything is written.
    void advance() const {
        constexpr uint64_t kWordsPerElement = 4;
        require(diopiGeneratorSetSeedAndOffset(generator_, seed_, offset_ + kWordsPerElement) == diopiSuccess,
                "parameter 'generator' takes no offset");
    }

  private:
    diopiGeneratorHandle_t generator_;
    uint64_t seed_ = 0;
    uint64_t offset_ = 0;
};

// Fills a tensor through `make(i, words)`, which gives a value of type T.
template <typename T, typename Make>
void draw(const Tensor& target, diopiGeneratorHandle_t generator, Make&& make) {
    const Stream stream(generator);
    stream.advance();
    const Output<T> values(target);
    parallel_for(target.numel, 8192, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
            values[i] = make(i, stream(i));
        }
    });
    values.store();
}

// A tensor that is filled.
inline Tensor target_tensor(const char* name, diopiTensorHandle_t handle, diopiGeneratorHandle_t generator,
                            DtypeSet allowed) {
    const Tensor target = tensor(name, handle, allowed);
    require_generator(generator);
    require_no_overlap(target);
    return target;
}

// The largest whole number up to which a dtype holds all exactly.
int64_t largest_exact(Dtype dtype);

}  // namespace diopi::cpu

#endif  // DIOPI_CPU_DRAW_H_
