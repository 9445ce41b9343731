// The first elements of a row by radix selection: digit by digit, a group counts the keys that begin as the last key
// that is taken, until it knows that key. Equal keys are taken in the order of their elements.
#ifndef DIOPI_CUDA_SORTING_SELECTION_H_
#define DIOPI_CUDA_SORTING_SELECTION_H_

#include <algorithm>

#include "diopi_core/reduction.h"
#include "diopi_cuda/atomic.h"
#include "diopi_cuda/launch.h"
#include "diopi_cuda/primitives.h"
#include "key_range.h"

namespace diopigen::cuda {

// Where selecting is worth it: sorting all takes some passes more.
inline bool is_selected(int64_t length, int64_t limit) { return limit <= length / 4; }

// The elements of rows, and candidates that were selected from parts of them.
template <typename T>
struct RowElements {
    const T* from;
    KeyRange range;
    uint64_t flipped;

    DIOPI_DEVICE uint64_t key(int64_t i) const { return range.key_of(from[i]) ^ flipped; }
    DIOPI_DEVICE int64_t index(int64_t i) const { return i; }
};

struct Candidates {
    const uint64_t* keys;
    const int64_t* indices;

    DIOPI_DEVICE uint64_t key(int64_t i) const { return keys[i]; }
    DIOPI_DEVICE int64_t index(int64_t i) const { return indices[i]; }
};

// Where keys and numbers of elements go.
struct Selected {
    uint64_t* keys;
    int64_t* indices;
};

// The first `limit` of the elements [begin, end), by a group with kDigits counters.
constexpr int kDigitBits = 8;
constexpr int kDigits = 1 << kDigitBits;

template <typename Source>
DIOPI_DEVICE void select(const Group& group, const Source& source, int64_t begin, int64_t end, int64_t limit, int bits,
                         const Selected& to) {
    int* counts = group.shared<int>();
    uint64_t last = 0;     // the key of the last element that is taken, as far as it is known
    int64_t left = limit;  // elements to take among those that begin like it
    for (int shift = bits - kDigitBits; shift >= 0; shift -= kDigitBits) {
        for (int digit = group.thread(); digit < kDigits; digit += group.size()) {
            counts[digit] = 0;
        }
        group.sync();
        const bool is_first = shift == bits - kDigitBits;
        for (int64_t i = begin + group.thread(); i < end; i += group.size()) {
            const uint64_t key = source.key(i);
            if (is_first || key >> (shift + kDigitBits) == last >> (shift + kDigitBits)) {
                atomic_increment(counts + (key >> shift & (kDigits - 1)));
            }
        }
        group.sync();
        int digit = 0;
        while (counts[digit] < left) {
            left -= counts[digit++];
        }
        last |= static_cast<uint64_t>(digit) << shift;
        group.sync();
    }
    int64_t taken = 0;
    int64_t equal = 0;
    for (int64_t first = begin; first < end && taken < limit; first += group.size()) {
        const int64_t i = first + group.thread();
        const uint64_t key = i < end ? source.key(i) : 0;
        const int is_equal = i < end && key == last ? 1 : 0;
        int equals = 0;
        const int64_t before = equal + group.sum_before(is_equal, equals);
        const int is_taken = i < end && (key < last || (is_equal != 0 && before < left)) ? 1 : 0;
        int all = 0;
        const int64_t at = taken + group.sum_before(is_taken, all);
        if (is_taken != 0) {
            to.keys[at] = key;
            to.indices[at] = source.index(i);
        }
        taken += all;
        equal += equals;
    }
}

// Of each of `count` rows of `length` elements, the first `limit` of each of its parts.
template <typename Source>
void select_of_parts(const Source& source, int64_t count, int64_t length, int64_t parts, int64_t limit, int bits,
                     const Selected& to) {
    for_groups(count * parts, threads_for(length), kDigits * static_cast<int64_t>(sizeof(int)),
               [=] DIOPI_KERNEL(Group & group, int64_t at) {
                   const int64_t row = at / parts * length;
                   const int64_t part = at % parts;
                   select(group, source, row + part * length / parts, row + (part + 1) * length / parts, limit, bits,
                          Selected{to.keys + at * limit, to.indices + at * limit});
               });
}

// The first `limit` elements of each row in `order`, by their indices. Long rows are selected from in parts first,
// which have at least twice as many elements as are taken from them.
template <typename T>
void select_first(Keyed& order, const T* from, const Rows& rows, const KeyRange& range, uint64_t flipped,
                  int64_t limit) {
    constexpr int64_t kPart = 1 << 15;
    const RowElements<T> source{from, range, flipped};
    const Selected result{order.keys(), order.indices()};
    const int64_t parts = rows.length / std::max(kPart, 2 * limit);
    if (parts <= 1) {
        select_of_parts(source, rows.count, rows.length, 1, limit, range.bits, result);
        return;
    }
    Buffer keys;
    Buffer indices;
    keys.allocate(rows.count * parts * limit * static_cast<int64_t>(sizeof(uint64_t)));
    indices.allocate(rows.count * parts * limit * static_cast<int64_t>(sizeof(int64_t)));
    const Selected parted{static_cast<uint64_t*>(keys.data()), static_cast<int64_t*>(indices.data())};
    select_of_parts(source, rows.count, rows.length, parts, limit, range.bits, parted);
    select_of_parts(Candidates{parted.keys, parted.indices}, rows.count, parts * limit, 1, limit, range.bits, result);
}

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_SORTING_SELECTION_H_
