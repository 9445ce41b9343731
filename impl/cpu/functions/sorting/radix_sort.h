// Sorting of packed keys by the digits of their keys, of one thread. Long arrays are distributed by their highest
// digit, and again, until the parts are in the cache or a few elements; short ones then go digit by digit from the
// lowest. Passes keep the order of equal digits, so that packed keys whose positions rise to begin with end in the
// order of their positions where keys are equal; those in another order are compared.
#ifndef DIOPI_CPU_RADIX_SORT_H_
#define DIOPI_CPU_RADIX_SORT_H_

#include <algorithm>
#include <cstdint>
#include <utility>

#include "sorting/packed_sort.h"

namespace diopigen::cpu {

using namespace core;

inline uint32_t key_of(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
inline uint64_t key_of(const LongWord& word) { return word.key; }

template <typename Word>
class RadixSort {
  public:
    // Rising, in `packed`. `scratch` is for as many. Below 2^32 elements.
    static void sort(Word* packed, Word* scratch, int64_t count) { part(packed, scratch, count, packed); }

  private:
    using Key = decltype(key_of(Word()));
    static constexpr int kBits = 8 * sizeof(Key);
    static constexpr bool kIsShort = kBits == 32;
    static constexpr int kWidth = 8;  // bits of a digit: as many streams as the first cache has lines for
    static constexpr int kDigits = 1 << kWidth;
    // Below, comparisons cost less than counting digits.
    static constexpr int64_t kFew = 48;
    // Up to here all digits in turn, in the first two caches, cost less than another distribution.
    static constexpr int64_t kCached = kIsShort ? 32768 : 0;

    static int64_t digit(const Word& word, int shift) {
        return static_cast<int64_t>(key_of(word) >> shift) & (kDigits - 1);
    }

    // Sorts those in `from` into `result`, which is `from` or `other`.
    static void part(Word* from, Word* other, int64_t count, Word* result) {
        Key differing = 0;
        bool is_sorted = true;
        for (int64_t i = 1; i < count; ++i) {
            differing |= key_of(from[i]) ^ key_of(from[0]);
            is_sorted &= !(from[i] < from[i - 1]);
        }
        if (is_sorted || differing == 0 || count < kFew) {
            if (result != from) {
                std::copy_n(from, count, result);
            }
            if (!is_sorted) {
                std::sort(result, result + count);
            }
            return;
        }
        int bits = 0;
        while (bits < kBits && differing >> bits != 0) {
            ++bits;
        }
        if (count <= kCached && bits > kWidth && has_rising_positions(from, count)) {
            digits(from, other, count, (bits + kWidth - 1) / kWidth, result);
            return;
        }
        distribute(from, other, count, std::max(0, bits - kWidth), result);
    }

    static bool has_rising_positions(const Word* packed, int64_t count) {
        bool is_rising = true;
        if constexpr (kIsShort) {
            for (int64_t i = 1; i < count; ++i) {
                is_rising &= static_cast<uint32_t>(packed[i]) > static_cast<uint32_t>(packed[i - 1]);
            }
        }
        return is_rising;
    }

    // By the digit at `shift`, then each part for itself.
    static void distribute(Word* from, Word* other, int64_t count, int shift, Word* result) {
        uint32_t ends[kDigits] = {};
        for (int64_t i = 0; i < count; ++i) {
            ++ends[digit(from[i], shift)];
        }
        uint32_t sum = 0;
        for (uint32_t& end : ends) {
            sum += std::exchange(end, sum);
        }
        for (int64_t i = 0; i < count; ++i) {
            other[ends[digit(from[i], shift)]++] = from[i];
        }
        uint32_t begin = 0;
        for (const uint32_t end : ends) {
            if (end != begin) {
                part(other + begin, from + begin, end - begin, result == from ? from + begin : other + begin);
            }
            begin = end;
        }
    }

    // All lowest digits in turn; they have rising positions.
    static void digits(Word* from, Word* other, int64_t count, int passes, Word* result) {
        uint32_t ends[kBits / kWidth][kDigits] = {};
        for (int64_t i = 0; i < count; ++i) {
            for (int pass = 0; pass < passes; ++pass) {
                ++ends[pass][digit(from[i], pass * kWidth)];
            }
        }
        for (int pass = 0; pass < passes; ++pass) {
            uint32_t sum = 0;
            for (uint32_t& end : ends[pass]) {
                sum += std::exchange(end, sum);
            }
            for (int64_t i = 0; i < count; ++i) {
                other[ends[pass][digit(from[i], pass * kWidth)]++] = from[i];
            }
            std::swap(from, other);
        }
        if (from != result) {
            std::copy_n(from, count, result);
        }
    }
};

}  // namespace diopigen::cpu

#endif  // DIOPI_CPU_RADIX_SORT_H_
