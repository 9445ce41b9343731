// Sorting of words that are all different: keys with the positions of elements below them.
#ifndef DIOPI_CORE_SORT_WORDS_H_
#define DIOPI_CORE_SORT_WORDS_H_

#include <cstdint>

namespace diopi::core {

// A key of 64 bits and a position; laid out as a little-endian number of 128 bits.
struct alignas(16) LongWord {
    uint64_t place;
    uint64_t key;

    friend bool operator<(const LongWord& a, const LongWord& b) {
        return a.key != b.key ? a.key < b.key : a.place < b.place;
    }
};

// Rising, by the calling thread. The words are distinct, so that there is only one order.
void sort_words(uint64_t* words, int64_t count);
void sort_words(LongWord* words, int64_t count);
// The same by all threads, where the array is long.
void sort_words_together(uint64_t* words, int64_t count);
void sort_words_together(LongWord* words, int64_t count);

}  // namespace diopi::core

#endif  // DIOPI_CORE_SORT_WORDS_H_
