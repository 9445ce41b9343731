// Copies between operands in which different dimensions are contiguous, as in a transposition: tiles are read along
// one of them and written along the other, so that both sides are contiguous stretches of memory.
#include "copies.h"
#include "diopi_core/raw_elements.h"

namespace diopigen::cuda {

namespace {

template <typename W>
struct ExchangeKernel {
    static constexpr int kTile = sizeof(W) <= 4 ? 64 : 32;
    static constexpr int kAhead = 4;
    // Rows of a tile have an odd number of 4-byte words, so that its columns are in different banks.
    static constexpr int kPad = sizeof(W) < 4 ? 4 / static_cast<int>(sizeof(W)) : 1;
    static constexpr int64_t kBytes = kTile * (kTile + kPad) * static_cast<int64_t>(sizeof(W));

    detail::Paths<2> around;  // all dimensions but the two
    int64_t sizes[2];         // of the dimensions along which is read and written
    int64_t strides[2];       // of the target along the first, of the source along the second
    uint32_t tiles[2];

    ExchangeKernel(const Dims& dims, const Operand* operands, const int64_t (&side)[2], const int64_t (&over)[2])
        : around(dims, operands, dims.rank), sizes{side[0], side[1]}, strides{over[0], over[1]} {
        for (int k = 0; k < 2; ++k) {
            tiles[k] = static_cast<uint32_t>((sizes[k] + kTile - 1) / kTile);
        }
    }
    int64_t groups(int64_t count) const { return count / (sizes[0] * sizes[1]) * tiles[0] * tiles[1]; }

    DIOPI_DEVICE void operator()(Group& group, int64_t k) const {
        const auto number = static_cast<uint32_t>(k);
        const uint32_t row = number / tiles[1];
        const int64_t read_first = static_cast<int64_t>(row % tiles[0]) * kTile;
        const int64_t written_first = static_cast<int64_t>(number % tiles[1]) * kTile;
        char* at[2];
        around.find(row / tiles[0], at);
        const char* from = at[1] + read_first * static_cast<int64_t>(sizeof(W)) + written_first * strides[1];
        char* to = at[0] + written_first * static_cast<int64_t>(sizeof(W)) + read_first * strides[0];
        const int reads = rest(sizes[0] - read_first);
        const int writes = rest(sizes[1] - written_first);
        W* tile = group.shared<W>();
        // A group has full rows of a tile or, in emulation, less than one.
        const int width = group.size() < kTile ? group.size() : kTile;
        const int levels = group.size() / width;
        const int level = group.thread() / width;
        for (int i = group.thread() % width; i < reads; i += width) {
            const char* address = from + i * static_cast<int64_t>(sizeof(W)) + level * strides[1];
            const int64_t stride = levels * strides[1];
            for (int row = level; row < writes; row += kAhead * levels) {
                W values[kAhead];
                DIOPI_UNROLL
                for (int v = 0; v < kAhead; ++v) {
                    if (row + v * levels < writes) {
                        values[v] = *reinterpret_cast<const W*>(address);
                    }
                    address += stride;
                }
                DIOPI_UNROLL
                for (int v = 0; v < kAhead; ++v) {
                    if (row + v * levels < writes) {
                        tile[(row + v * levels) * (kTile + kPad) + i] = values[v];
                    }
                }
            }
        }
        group.sync();
        for (int i = group.thread() % width; i < writes; i += width) {
            char* address = to + i * static_cast<int64_t>(sizeof(W)) + level * strides[0];
            const int64_t stride = levels * strides[0];
            DIOPI_AHEAD
            for (int row = level; row < reads; row += levels) {
                *reinterpret_cast<W*>(address) = tile[i * (kTile + kPad) + row];
                address += stride;
            }
        }
    }

  private:
    DIOPI_DEVICE static int rest(int64_t left) { return left < kTile ? static_cast<int>(left) : kTile; }
};

}  // namespace

namespace {

// The dimension that is contiguous in the source, where the innermost is not; negative for none.
int side_of(const CopyJob& job) {
    constexpr int64_t kLeast = 8;  // elements along both: below that, tiles are empty for the most part
    const int inner = job.dims.rank - 1;
    const Operand& to = job.to();
    const Operand& from = job.from();
    if (inner < 1 || job.count > kMaxShort || to.strides[inner] != to.element || from.data == nullptr ||
        from.strides[inner] == from.element || from.strides[inner] == 0 || job.dims.sizes[inner] < kLeast) {
        return -1;
    }
    int side = -1;
    for (int d = 0; d < inner; ++d) {
        if (from.strides[d] == from.element && job.dims.sizes[d] >= kLeast) {
            side = d;
        }
    }
    return side;
}

}  // namespace

bool can_exchange(const CopyJob& job) { return side_of(job) >= 0; }

void exchange(const CopyJob& job) {
    const int inner = job.dims.rank - 1;
    const int side = side_of(job);
    Dims around;
    Operand operands[2];
    for (int k = 0; k < 2; ++k) {
        operands[k].data = job.operands[k].data;
    }
    for (int d = 0; d < inner; ++d) {
        if (d != side) {
            for (int k = 0; k < 2; ++k) {
                operands[k].strides[around.rank] = job.operands[k].strides[d];
            }
            around.append(job.dims.sizes[d]);
        }
    }
    const int64_t sizes[2] = {job.dims.sizes[side], job.dims.sizes[inner]};
    const int64_t strides[2] = {job.to().strides[side], job.from().strides[inner]};
    dispatch_word(job.to().dtype, [&](auto sample) {
        using Kernel = ExchangeKernel<decltype(sample)>;
        const Kernel kernel(around, operands, sizes, strides);
        for_groups(kernel.groups(job.count), kThreads, Kernel::kBytes, kernel);
    });
}

}  // namespace diopigen::cuda
