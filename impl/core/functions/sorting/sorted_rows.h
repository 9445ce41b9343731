// The order of the elements of rows. Equal elements keep their order, also when descending; NaN counts as larger than
// every number.
#ifndef DIOPI_CORE_SORTED_ROWS_H_
#define DIOPI_CORE_SORTED_ROWS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "diopi_core/clones.h"
#include "diopi_core/dense.h"
#include "diopi_core/reduction.h"
#include "diopi_core/threads.h"
#include "order_keys.h"
#include "packed_sort.h"

namespace diopigen::core {

// Packed keys of elements of T: the key, inverted when descending, and below it the position.
template <typename T>
class PackedKeys {
  public:
    using Key = OrderKey<T>;
    using Word = std::conditional_t<sizeof(Key) == 8, LongWord, uint64_t>;

    explicit PackedKeys(bool descending) : flip_(descending ? ~Key{0} : Key{0}) {}

    Key key(T value) const { return order_key(value) ^ flip_; }
    static Word join(Key key, int64_t index) {
        if constexpr (sizeof(Key) == 8) {
            return {static_cast<uint64_t>(index), key};
        } else {
            return static_cast<uint64_t>(key) << 32 | static_cast<uint64_t>(index);
        }
    }
    static int64_t index(const Word& word) {
        if constexpr (sizeof(Key) == 8) {
            return static_cast<int64_t>(word.index);
        } else {
            return static_cast<int64_t>(word & 0xffffffffu);
        }
    }
    static Key key(const Word& word) {
        if constexpr (sizeof(Key) == 8) {
            return word.key;
        } else {
            return static_cast<Key>(word >> 32);
        }
    }

    // The packed keys of elements [first, first + count) of a row.
    DIOPI_CPU_CLONES void make(Word* packed, const T* row, int64_t first, int64_t count) const {
        for (int64_t i = 0; i < count; ++i) {
            packed[i] = join(key(row[first + i]), first + i);
        }
    }
    // The element of a packed key.
    T element(const Word& word, const T* row) const {
        const Key own = key(word) ^ flip_;
        return is_ambiguous_key<T>(own) ? row[index(word)] : element_of_key<T>(own);
    }
    // Whether the elements of two packed keys are equal: NaN is not.
    bool is_same(const Word& a, const Word& b) const {
        return key(a) == key(b) && !(std::is_floating_point_v<T> && (key(a) ^ flip_) == ~Key{0});
    }

  private:
    Key flip_;
};

// The same for int64 whose values lie less than 2^32 apart: keys of 32 bits will do.
class NarrowPackedKeys {
  public:
    using Word = uint64_t;

    NarrowPackedKeys(int64_t least, bool descending)
        : least_(static_cast<uint64_t>(least)), flip_(descending ? ~0u : 0u) {}

    DIOPI_CPU_CLONES void make(Word* packed, const Int64* row, int64_t first, int64_t count) const {
        for (int64_t i = 0; i < count; ++i) {
            const auto key = static_cast<uint32_t>(static_cast<uint64_t>(row[first + i].value) - least_) ^ flip_;
            packed[i] = static_cast<uint64_t>(key) << 32 | static_cast<uint64_t>(first + i);
        }
    }
    static int64_t index(Word word) { return static_cast<int64_t>(word & 0xffffffffu); }
    Int64 element(Word word, const Int64* /*row*/) const {
        return Int64(static_cast<int64_t>(static_cast<uint64_t>(static_cast<uint32_t>(word >> 32) ^ flip_) + least_));
    }
    static bool is_same(Word a, Word b) { return a >> 32 == b >> 32; }

  private:
    uint64_t least_;
    uint32_t flip_;
};

struct Span {
    int64_t least;
    int64_t most;
    bool is_narrow() const { return static_cast<uint64_t>(most) - static_cast<uint64_t>(least) <= 0xffffffffu; }
};

DIOPI_CPU_CLONES inline Span span_of(const Int64* values, int64_t count) {
    Span span{values[0].value, values[0].value};
    for (int64_t i = 1; i < count; ++i) {
        span.least = values[i].value < span.least ? values[i].value : span.least;
        span.most = values[i].value > span.most ? values[i].value : span.most;
    }
    return span;
}

// Calls `body(coder)` with what packs the elements.
template <typename T, typename Body>
void with_packing(const T* data, int64_t count, bool descending, Body&& body) {
    if constexpr (std::is_same_v<T, Int64>) {
        const Span span = span_of(data, count);
        if (span.is_narrow()) {
            return body(NarrowPackedKeys(span.least, descending));
        }
    }
    body(PackedKeys<T>(descending));
}

// Positions are in 32 bits of a packed key.
inline void require_countable(int64_t length) {
    require(length < int64_t{1} << 32, "parameter 'input' has rows of 2^32 elements or more, which are not sorted");
}

// Calls `store(coder, row, first, packed, count)` with packed keys in order, some at a time, for every row. Several
// threads call it.
template <typename T, typename Store>
void sort_rows(const T* data, int64_t rows, int64_t length, bool descending, Store&& store) {
    constexpr int64_t kGrain = 16384;
    require_countable(length);
    if (rows == 0 || length == 0) {
        return;
    }
    with_packing(data, rows * length, descending, [&](const auto& coder) {
        using Word = typename std::decay_t<decltype(coder)>::Word;
        const auto allocate = [length](Buffer& memory) {
            memory.allocate(length * static_cast<int64_t>(sizeof(Word)));
            return static_cast<Word*>(memory.data());
        };
        if (rows >= thread_count() || length < kGrain) {
            parallel_for(rows, row_grain(8 * length), [&](int64_t begin, int64_t end) {
                Buffer memory;
                Word* packed = allocate(memory);
                for (int64_t row = begin; row < end; ++row) {
                    coder.make(packed, data + row * length, 0, length);
                    sort_packed(packed, length);
                    store(coder, row, int64_t{0}, packed, length);
                }
            });
            return;
        }
        Buffer memory;
        Word* packed = allocate(memory);
        for (int64_t row = 0; row < rows; ++row) {
            const T* from = data + row * length;
            parallel_for(length, kGrain,
                         [&](int64_t begin, int64_t end) { coder.make(packed + begin, from, begin, end - begin); });
            sort_packed_in_parallel(packed, length);
            parallel_for(length, kGrain,
                         [&](int64_t begin, int64_t end) { store(coder, row, begin, packed + begin, end - begin); });
        }
    });
}

}  // namespace diopigen::core

#endif  // DIOPI_CORE_SORTED_ROWS_H_
