// Reducing rows of elements to one value each. Long rows are cut into chunks of fixed size, so that one row keeps all
// threads busy and the result does not depend on how many there are.
#ifndef DIOPI_CPU_CHUNKS_H_
#define DIOPI_CPU_CHUNKS_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "diopi_core/reduction.h"
#include "diopi_core/threads.h"

namespace diopigen::cpu {

using namespace core;

// Reduces elements [first, first + count) with `add(value, i)`, in several running values so that the additions do not
// wait for each other. `join(a, b)` merges two of them.
template <typename A, typename Add, typename Join>
A reduce_span(A identity, int64_t first, int64_t count, Add&& add, Join&& join) {
    constexpr int kLanes = 8;
    A lanes[kLanes];
    std::fill(lanes, lanes + kLanes, identity);
    int64_t i = 0;
    for (; i + kLanes <= count; i += kLanes) {
        for (int lane = 0; lane < kLanes; ++lane) {
            lanes[lane] = add(lanes[lane], first + i + lane);
        }
    }
    for (; i < count; ++i) {
        lanes[0] = add(lanes[0], first + i);
    }
    for (int lane = 1; lane < kLanes; ++lane) {
        lanes[0] = join(lanes[0], lanes[lane]);
    }
    return lanes[0];
}

// One value for each of `count` rows of `length` elements; `add(value, row, i)` takes element i of all rows together.
template <typename A, typename Add, typename Join>
std::vector<A> reduce_rows(int64_t count, int64_t length, A identity, Add&& add, Join&& join) {
    constexpr int64_t kChunk = 32768;
    const int64_t chunks = std::max<int64_t>(1, (length + kChunk - 1) / kChunk);
    std::vector<A> partial(static_cast<size_t>(count * chunks), identity);
    parallel_for(count * chunks, row_grain(std::min(length, kChunk)), [&](int64_t begin, int64_t end) {
        for (int64_t part = begin; part < end; ++part) {
            const int64_t row = part / chunks;
            const int64_t first = part % chunks * kChunk;
            partial[part] = reduce_span(
                identity, row * length + first, std::min(kChunk, length - first),
                [&](A value, int64_t i) { return add(value, row, i); }, join);
        }
    });
    std::vector<A> result(static_cast<size_t>(count), identity);
    for (int64_t part = 0; part < count * chunks; ++part) {
        result[part / chunks] = join(result[part / chunks], partial[part]);
    }
    return result;
}

}  // namespace diopigen::cpu

#endif  // DIOPI_CPU_CHUNKS_H_
