#include "sorting/packed_sort.h"

#include <algorithm>
#include <utility>

#include "diopi_core/dense.h"
#include "diopi_core/threads.h"

#if defined(DIOPI_CPU_HIGHWAY)
#include <hwy/contrib/sort/vqsort.h>
#else
#include "radix_sort.h"
#endif

namespace diopigen::cpu {}

namespace diopigen::core {

using namespace cpu;

namespace {

#if defined(DIOPI_CPU_HIGHWAY)
// Vector quicksort, by the best instructions that the machine has; in place.
constexpr bool kHasScratch = false;
// It asks the kernel for random numbers at each call, which takes as long as sorting so many keys without it.
constexpr int64_t kFew = 24;

uint64_t* words_of(uint64_t* packed) { return packed; }
hwy::uint128_t* words_of(LongWord* packed) {
    static_assert(sizeof(LongWord) == sizeof(hwy::uint128_t) && alignof(LongWord) == alignof(hwy::uint128_t),
                  "a LongWord is Highway's number of 128 bits");
    return reinterpret_cast<hwy::uint128_t*>(packed);
}

template <typename Word>
void sort_alone(Word* packed, Word* /*scratch*/, int64_t count) {
    if (count <= kFew) {
        std::sort(packed, packed + count);
        return;
    }
    const hwy::Sorter sorter;
    sorter(words_of(packed), static_cast<size_t>(count), hwy::SortAscending());
}
#else
constexpr bool kHasScratch = true;

template <typename Word>
void sort_alone(Word* packed, Word* scratch, int64_t count) {
    RadixSort<Word>::sort(packed, scratch, count);
}
#endif

template <typename Word>
void sort_by_this_thread(Word* packed, int64_t count) {
    Buffer memory;
    if (kHasScratch) {
        memory.allocate(count * static_cast<int64_t>(sizeof(Word)));
    }
    sort_alone(packed, static_cast<Word*>(memory.data()), count);
}

// How many of the first `count` packed keys of two sorted arrays together come from the first one.
template <typename Word>
int64_t count_of_first(const Word* a, int64_t a_count, const Word* b, int64_t b_count, int64_t count) {
    int64_t least = std::max<int64_t>(0, count - b_count);
    int64_t most = std::min(count, a_count);
    while (least < most) {
        const int64_t middle = (least + most) / 2;
        if (a[middle] < b[count - middle - 1]) {
            least = middle + 1;
        } else {
            most = middle;
        }
    }
    return least;
}

// RawInput [begin, end) of two sorted arrays together.
template <typename Word>
void merge_part(Word* to, const Word* a, int64_t a_count, const Word* b, int64_t b_count, int64_t begin, int64_t end) {
    int64_t i = count_of_first(a, a_count, b, b_count, begin);
    int64_t j = begin - i;
    int64_t written = begin;
    while (written < end && i < a_count && j < b_count) {
        const bool is_second = b[j] < a[i];
        to[written++] = is_second ? b[j] : a[i];
        j += is_second ? 1 : 0;
        i += is_second ? 0 : 1;
    }
    const int64_t rest = std::min(end - written, a_count - i);
    std::copy_n(a + i, rest, to + written);
    written += rest;
    std::copy_n(b + j, end - written, to + written);
}

template <typename Word>
void sort_together(Word* packed, int64_t count) {
    constexpr int64_t kSegment = 1 << 15;
    int64_t runs = 1;
    while (runs < thread_count() && runs * 2 * kSegment <= count) {
        runs *= 2;
    }
    if (runs == 1) {
        sort_by_this_thread(packed, count);
        return;
    }
    Buffer memory;
    memory.allocate(count * static_cast<int64_t>(sizeof(Word)));
    Word* from = packed;
    Word* to = static_cast<Word*>(memory.data());
    // Each thread sorts a run; then pairs of runs are merged, segment by segment.
    int64_t run = ((count + runs - 1) / runs + kSegment - 1) / kSegment * kSegment;
    parallel_for((count + run - 1) / run, 1, [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
            sort_alone(from + k * run, to + k * run, std::min(run, count - k * run));
        }
    });
    for (; run < count; run *= 2) {
        parallel_for((count + kSegment - 1) / kSegment, 1, [&](int64_t begin, int64_t end) {
            for (int64_t segment = begin; segment < end; ++segment) {
                const int64_t first = segment * kSegment;
                const int64_t pair = first / (2 * run) * (2 * run);
                const int64_t middle = std::min(count, pair + run);
                const int64_t last = std::min(count, pair + 2 * run);
                merge_part(to + pair, from + pair, middle - pair, from + middle, last - middle, first - pair,
                           std::min(first + kSegment, last) - pair);
            }
        });
        std::swap(from, to);
    }
    if (from != packed) {
        parallel_for(count, kSegment,
                     [&](int64_t begin, int64_t end) { std::copy(from + begin, from + end, packed + begin); });
    }
}

}  // namespace

void sort_packed(uint64_t* packed, int64_t count) { sort_by_this_thread(packed, count); }
void sort_packed(LongWord* packed, int64_t count) { sort_by_this_thread(packed, count); }
void sort_packed_in_parallel(uint64_t* packed, int64_t count) { sort_together(packed, count); }
void sort_packed_in_parallel(LongWord* packed, int64_t count) { sort_together(packed, count); }

}  // namespace diopigen::core
