#include "diopi_core/strided.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "diopi_core/clones.h"

namespace diopigen::core {

namespace {

constexpr int64_t kTileWidth = 16;  // a line of the cache in float32
constexpr int64_t kTileHeight = 64;

struct Bytes16 {
    uint64_t bits[2];
};

// One element, wherever it lies: pieces of a storage need not be aligned for their dtype.
template <typename Word>
DIOPI_CPU_CLONES void repeat_word(char* to, const char* from, int64_t count) {
    Word word;
    std::memcpy(&word, from, sizeof(Word));
    for (int64_t i = 0; i < count; ++i) {
        std::memcpy(to + i * static_cast<int64_t>(sizeof(Word)), &word, sizeof(Word));
    }
}

template <typename Word>
void copy_run(char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t count) {
    constexpr int64_t kWord = sizeof(Word);
    if (from_stride == 0 && to_stride == kWord) {
        repeat_word<Word>(to, from, count);
        return;
    }
    if (from_stride == -kWord && to_stride == kWord) {
        for (int64_t i = 0; i < count; ++i) {  // backwards: compilers turn the order around in vectors
            std::memcpy(to + i * kWord, from - i * kWord, sizeof(Word));
        }
        return;
    }
    if (from_stride == 2 * kWord && to_stride == kWord) {
        // Every second element: compilers know how to shuffle these out of vectors.
        for (int64_t i = 0; i < count; ++i) {
            std::memcpy(to + i * kWord, from + i * 2 * kWord, sizeof(Word));
        }
        return;
    }
    for (int64_t i = 0; i < count; ++i) {
        std::memcpy(to + i * to_stride, from + i * from_stride, sizeof(Word));
    }
}

// Lines of a cache as constants: a row of a tile is one of them, and a call for each costs more than its bytes.
void copy_dense(char* to, const char* from, int64_t bytes) {
    constexpr int64_t kLine = 64;
    if (bytes % kLine != 0 || bytes > 4 * kLine) {
        std::memcpy(to, from, static_cast<size_t>(bytes));
        return;
    }
    for (int64_t i = 0; i < bytes; i += kLine) {
        std::memcpy(to + i, from + i, kLine);
    }
}

void copy_run(int64_t element, char* to, int64_t to_stride, const char* from, int64_t from_stride, int64_t count) {
    if (to_stride == element && from_stride == element) {
        copy_dense(to, from, count * element);
        return;
    }
    switch (element) {
        case 1:
            return copy_run<uint8_t>(to, to_stride, from, from_stride, count);
        case 2:
            return copy_run<uint16_t>(to, to_stride, from, from_stride, count);
        case 4:
            return copy_run<uint32_t>(to, to_stride, from, from_stride, count);
        case 8:
            return copy_run<uint64_t>(to, to_stride, from, from_stride, count);
        default:
            return copy_run<Bytes16>(to, to_stride, from, from_stride, count);
    }
}

// Elements before a row, which is a position in all dimensions but the innermost.
int64_t offset_of_row(const Strided& operand, int64_t row) {
    int64_t offset = 0;
    for (int k = operand.rank - 2; k >= 0; --k) {
        offset += row % operand.sizes[k] * operand.strides[k];
        row /= operand.sizes[k];
    }
    return offset;
}

// Element i of line k becomes element 4 * i + k.
template <typename Word>
DIOPI_CPU_CLONES void interleave(char* __restrict to, const char* __restrict from, int64_t line, int64_t count) {
    constexpr int64_t kWord = sizeof(Word);
    DIOPI_CPU_INDEPENDENT
    for (int64_t i = 0; i < count; ++i) {
        std::memcpy(to + (4 * i + 0) * kWord, from + 0 * line + i * kWord, sizeof(Word));
        std::memcpy(to + (4 * i + 1) * kWord, from + 1 * line + i * kWord, sizeof(Word));
        std::memcpy(to + (4 * i + 2) * kWord, from + 2 * line + i * kWord, sizeof(Word));
        std::memcpy(to + (4 * i + 3) * kWord, from + 3 * line + i * kWord, sizeof(Word));
    }
}

// A tile of `rows` rows with `kTileWidth` elements, of which each column is contiguous in `from`. By four columns at a
// time, which stay in the cache though their distance is a multiple of its ways, and in vectors.
template <typename Word>
void gather_tile(char* to, const char* from, int64_t column, int64_t rows) {
    static_assert(kTileWidth == 16);
    constexpr int64_t kWord = sizeof(Word);
    char quarters[4 * 4 * kTileHeight * kWord];
    for (int k = 0; k < 4; ++k) {
        interleave<Word>(quarters + k * 4 * rows * kWord, from + k * column, 4 * column, rows);
    }
    interleave<Word>(to, quarters, 4 * rows * kWord, 4 * rows);
}

void gather_tile(int64_t element, char* to, const char* from, int64_t column, int64_t rows) {
    switch (element) {
        case 1:
            return gather_tile<uint8_t>(to, from, column, rows);
        case 2:
            return gather_tile<uint16_t>(to, from, column, rows);
        case 4:
            return gather_tile<uint32_t>(to, from, column, rows);
        default:
            return gather_tile<uint64_t>(to, from, column, rows);
    }
}

// The tiles of [start, start + count); false where the operand has none, or none begins there.
bool gather_tiles(const Strided& operand, int64_t start, int64_t count, char* to) {
    const int inner = operand.rank - 1;
    if (inner < 1 || operand.sizes[inner] != kTileWidth || operand.strides[inner - 1] != 1 ||
        operand.sizes[inner - 1] > kTileHeight || operand.element > 8 || start % kTileWidth != 0 ||
        count % kTileWidth != 0) {
        return false;
    }
    const int64_t height = operand.sizes[inner - 1];
    const int64_t column = operand.strides[inner] * operand.element;
    int64_t row = start / kTileWidth;
    const int64_t end = row + count / kTileWidth;
    while (row < end) {
        const int64_t rows = std::min(height - row % height, end - row);
        gather_tile(operand.element, to, operand.data + offset_of_row(operand, row) * operand.element, column, rows);
        to += rows * kTileWidth * operand.element;
        row += rows;
    }
    return true;
}

// Calls `run(address, stride in bytes, position of the run, its length)` for the pieces of [start, start + count) that
// have one stride.
template <typename Run>
void for_each_run(const Strided& operand, int64_t start, int64_t count, Run&& run) {
    if (operand.rank == 0) {
        run(operand.data, int64_t{0}, int64_t{0}, count);
        return;
    }
    const int inner = operand.rank - 1;
    int64_t at[kMaxRank];
    int64_t rest = start;
    int64_t offset = 0;
    for (int k = inner; k >= 0; --k) {
        at[k] = rest % operand.sizes[k];
        rest /= operand.sizes[k];
        offset += at[k] * operand.strides[k];
    }
    int64_t done = 0;
    while (true) {
        const int64_t length = std::min(operand.sizes[inner] - at[inner], count - done);
        run(operand.data + offset * operand.element, operand.strides[inner] * operand.element, done, length);
        done += length;
        if (done == count) {
            return;
        }
        offset -= at[inner] * operand.strides[inner];
        at[inner] = 0;
        for (int k = inner - 1; k >= 0; --k) {
            offset += operand.strides[k];
            if (++at[k] < operand.sizes[k]) {
                break;
            }
            offset -= operand.sizes[k] * operand.strides[k];
            at[k] = 0;
        }
    }
}

// The stride of a tensor, broadcast to `rank` dimensions, in one of them.
int64_t stride_in(const Tensor& tensor, int dim, int64_t rank) {
    const int64_t own = dim - (rank - tensor.rank);
    return own < 0 || tensor.shape[own] == 1 ? 0 : tensor.strides[own];
}

}  // namespace

Order logical_order(const int64_t* shape, int64_t rank) {
    Order order;
    for (int64_t i = 0; i < rank; ++i) {
        if (shape[i] != 1) {
            order.sizes[order.rank] = shape[i];
            order.strides[order.rank] = 1;
            order.dims[order.rank++] = static_cast<int>(i);
        }
    }
    return order;
}

Order memory_order(const int64_t* shape, const int64_t* strides, int64_t rank) {
    Order order = logical_order(shape, rank);
    std::stable_sort(order.dims, order.dims + order.rank, [&](int a, int b) { return strides[a] > strides[b]; });
    for (int k = 0; k < order.rank; ++k) {
        order.sizes[k] = shape[order.dims[k]];
    }
    return order;
}

Order tiled(const Order& order, const Tensor& operand, int64_t rank) {
    const int inner = order.rank - 1;
    if (inner < 1 || order.rank + 2 > kMaxRank || order.sizes[inner] % kTileWidth != 0 ||
        std::abs(stride_in(operand, order.dims[inner], rank)) < 2) {
        return order;
    }
    for (int across = 0; across < inner; ++across) {
        const int64_t height = order.sizes[across] % kTileHeight == 0 ? kTileHeight
                               : order.sizes[across] % 16 == 0        ? 16
                                                                      : 0;
        if (height == 0 || stride_in(operand, order.dims[across], rank) != 1) {
            continue;
        }
        Order result = order;
        result.rank += 2;
        result.sizes[across] /= height;
        result.strides[across] = height;
        result.sizes[inner] /= kTileWidth;
        result.strides[inner] = kTileWidth;
        result.sizes[inner + 1] = height;
        result.dims[inner + 1] = order.dims[across];
        result.sizes[inner + 2] = kTileWidth;
        result.dims[inner + 2] = order.dims[inner];
        result.strides[inner + 1] = result.strides[inner + 2] = 1;
        return result;
    }
    return order;
}

Strided strided(const Tensor& tensor, const Order& order, int64_t rank) {
    Strided result;
    result.data = static_cast<char*>(tensor.data);
    result.element = size_of(tensor.dtype);
    for (int k = 0; k < order.rank; ++k) {
        const int64_t stride = stride_in(tensor, order.dims[k], rank) * order.strides[k];
        const int last = result.rank - 1;
        if (last >= 0 && result.strides[last] == stride * order.sizes[k]) {
            result.sizes[last] *= order.sizes[k];
            result.strides[last] = stride;
        } else {
            result.sizes[result.rank] = order.sizes[k];
            result.strides[result.rank++] = stride;
        }
    }
    return result;
}

char* Strided::contiguous(int64_t start, int64_t count) const {
    if (rank == 0) {
        return count == 1 ? data : nullptr;
    }
    const int inner = rank - 1;
    const int64_t first = rank == 1 ? start : start % sizes[inner];
    if (strides[inner] != 1 || first + count > sizes[inner]) {
        return nullptr;
    }
    const int64_t offset = rank == 1 ? 0 : offset_of_row(*this, start / sizes[inner]);
    return data + (first + offset) * element;
}

void Strided::gather(int64_t start, int64_t count, void* to) const {
    auto* target = static_cast<char*>(to);
    if (gather_tiles(*this, start, count, target)) {
        return;
    }
    for_each_run(*this, start, count, [&](const char* address, int64_t stride, int64_t at, int64_t length) {
        copy_run(element, target + at * element, element, address, stride, length);
    });
}

void Strided::scatter(int64_t start, int64_t count, const void* from) const {
    const auto* source = static_cast<const char*>(from);
    for_each_run(*this, start, count, [&](char* address, int64_t stride, int64_t at, int64_t length) {
        copy_run(element, address, length == 1 ? element : stride, source + at * element, element, length);
    });
}

}  // namespace diopigen::core
