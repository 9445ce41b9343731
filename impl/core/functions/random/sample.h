// How random operators sample. Element i, in row-major order, is computed from the bits of Philox4x32-10 for the
// generator's seed and the counter (i, offset): the same for every number of threads and all strides. Afterwards the
// generator's offset has grown by four.
#ifndef DIOPI_CORE_SAMPLE_H_
#define DIOPI_CORE_SAMPLE_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include "diopi_core/clones.h"
#include "diopi_core/dense.h"
#include "diopi_core/strided.h"
#include "diopi_core/threads.h"
#include "random_bits.h"

namespace diopigen::core {

// The random bits of one call.
class Stream {
  public:
    explicit Stream(diopiGeneratorHandle_t generator) : generator_(generator) {
        require(diopiGeneratorGetSeedAndOffset(generator, &seed_, &offset_) == diopiSuccess,
                "parameter 'generator' gives no seed");
    }
    RandomBits operator()(int64_t i) const { return philox(seed_, static_cast<uint64_t>(i), offset_); }
    uint64_t seed() const { return seed_; }
    uint64_t offset() const { return offset_; }
    // To be called before anything is written.
    void advance() const {
        constexpr uint64_t kOffsetPerElement = 4;
        require(diopiGeneratorSetSeedAndOffset(generator_, seed_, offset_ + kOffsetPerElement) == diopiSuccess,
                "parameter 'generator' takes no offset");
    }

  private:
    diopiGeneratorHandle_t generator_;
    uint64_t seed_ = 0;
    uint64_t offset_ = 0;
};

namespace detail {

constexpr int64_t kSampleBlock = 256;
constexpr int64_t kFewSamples = 16;
using RawBits = uint32_t[4][kSampleBlock];

// Value w of element first + i becomes bits[w][i], for each i below `length`, a multiple of kFewSamples. Each library
// has its own loops.
void raw_bits(RawBits& bits, int64_t length, const Stream& stream, int64_t first);

// Values `first` and following of a call, at most a block.
template <typename T, typename Make>
DIOPI_CPU_CLONES void sample_block(T* values, const Stream& stream, int64_t first, int64_t count, const Make& make) {
    RawBits bits;
    raw_bits(bits, count <= kFewSamples ? kFewSamples : kSampleBlock, stream, first);
    if (count == kSampleBlock) {
        for (int64_t i = 0; i < kSampleBlock; ++i) {
            values[i] = make(first + i, RandomBits{bits[0][i], bits[1][i], bits[2][i], bits[3][i]});
        }
    } else {
        for (int64_t i = 0; i < count; ++i) {
            values[i] = make(first + i, RandomBits{bits[0][i], bits[1][i], bits[2][i], bits[3][i]});
        }
    }
}

}  // namespace detail

// Fills a tensor through `make(i, bits)`, which gives a value of type T.
template <typename T, typename Make>
void fill_random(const Tensor& target, diopiGeneratorHandle_t generator, Make&& make) {
    constexpr int64_t kBlock = detail::kSampleBlock;
    const Stream stream(generator);
    stream.advance();
    if (is_contiguous(target)) {
        const int64_t size = size_of(target.dtype);
        parallel_for(target.numel, 32 * kBlock, [&](int64_t begin, int64_t end) {
            T values[kBlock];
            for (int64_t i = begin; i < end; i += kBlock) {
                const int64_t count = std::min(kBlock, end - i);
                detail::sample_block(values, stream, i, count, make);
                convert(dtype_of<T>, values, target.dtype, static_cast<char*>(target.data) + i * size, count);
            }
        });
        return;
    }
    const Output<T> values(target);
    parallel_for(target.numel, 32 * kBlock, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; i += kBlock) {
            detail::sample_block(values.data() + i, stream, i, std::min(kBlock, end - i), make);
        }
    });
    values.store();
}

// Whether `holds` of all numbers, asked for in parts.
template <typename T, typename Holds>
bool holds_of_all(const T* values, int64_t count, Holds&& holds) {
    std::atomic<bool> result{true};
    parallel_for(count, 65536, [&](int64_t begin, int64_t end) {
        bool own = true;
        for (int64_t i = begin; i < end; ++i) {
            own &= holds(values[i]);
        }
        if (!own) {
            result = false;
        }
    });
    return result;
}

// The largest integer up to which a dtype holds all exactly.
int64_t largest_exact(Dtype dtype);

}  // namespace diopigen::core

#endif  // DIOPI_CORE_SAMPLE_H_
