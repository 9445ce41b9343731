// Lists of words, as BanBadWords and StopWordsCriterion have them, and tokens by position.
#ifndef DIOPI_CORE_FUNCTIONS_SERVING_PHRASES_H_
#define DIOPI_CORE_FUNCTIONS_SERVING_PHRASES_H_

#include "diopi_core/integer.h"

namespace diopigen::core::serving {

// The words of a sequence: their tokens joined, and where each word ends there. The first negative end ends the list.
struct Phrases {
    const Int64* tokens;
    const Int64* ends;
    int64_t columns;

    // List number `sequence` of several, each with a row of tokens and one of ends.
    DIOPI_HOST_DEVICE static Phrases of(const Int64* lists, int64_t sequence, int64_t columns) {
        const Int64* own = lists + 2 * sequence * columns;
        return {own, own + columns, columns};
    }
    DIOPI_HOST_DEVICE bool has(int64_t word) const { return word < columns && ends[word].value >= 0; }
    DIOPI_HOST_DEVICE int64_t begin(int64_t word) const { return word == 0 ? 0 : ends[word - 1].value; }
    DIOPI_HOST_DEVICE int64_t end(int64_t word) const { return ends[word].value; }
    // Each word ends behind the one before it, and within the row.
    DIOPI_HOST_DEVICE bool is_valid() const {
        for (int64_t word = 0; has(word); ++word) {
            if (end(word) <= begin(word) || end(word) > columns) {
                return false;
            }
        }
        return true;
    }
};

// The tokens of one sequence: a column of [positions, sequences].
struct History {
    const Int64* tokens;
    int64_t sequences;
    int64_t length;  // positions that are looked at

    // Whether the latest tokens are `count` tokens, none for 0.
    DIOPI_HOST_DEVICE bool ends_with(const Int64* last, int64_t count) const {
        if (count > length) {
            return false;
        }
        for (int64_t i = 0; i < count; ++i) {
            if (tokens[(length - count + i) * sequences].value != last[i].value) {
                return false;
            }
        }
        return true;
    }
};

}  // namespace diopigen::core::serving

#endif  // DIOPI_CORE_FUNCTIONS_SERVING_PHRASES_H_
