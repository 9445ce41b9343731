// Sorting of packed keys that are all different: keys with the indices of elements below them.
#ifndef DIOPI_CORE_PACKED_SORT_H_
#define DIOPI_CORE_PACKED_SORT_H_

#include <cstdint>

namespace diopigen::core {

// A key of 64 bits and a position; laid out as a little-endian number of 128 bits.
struct alignas(16) LongWord {
    uint64_t index;
    uint64_t key;

    friend bool operator<(const LongWord& a, const LongWord& b) {
        return a.key != b.key ? a.key < b.key : a.index < b.index;
    }
};

// Rising, by the calling thread. They are distinct, so that there is only one order.
void sort_packed(uint64_t* packed, int64_t count);
void sort_packed(LongWord* packed, int64_t count);
// The same by all threads, where the array is long.
void sort_packed_in_parallel(uint64_t* packed, int64_t count);
void sort_packed_in_parallel(LongWord* packed, int64_t count);

}  // namespace diopigen::core

#endif  // DIOPI_CORE_PACKED_SORT_H_
