// What a chip can do, as a table that `diopigen chip FILE.yaml` writes, and whether it takes a call.
#ifndef DIOPIGEN_KERNELS_CHIP_H_
#define DIOPIGEN_KERNELS_CHIP_H_

#include <diopi/diopirt.h>
#include <diopigen_kernels/buffer.h>
#include <diopigen_kernels/status.h>

#include <cstddef>
#include <cstdint>

namespace diopigen::kernels {

/// Orders of the dimensions in memory. A tensor of rank 3, 4 or 5 fits the one or the other, or none; dimensions of
/// size 1 do not matter. ND is any.
enum Layout : uint32_t { NCL = 1, NLC = 2, NCHW = 4, NHWC = 8, NCDHW = 16, NDHWC = 32, ND = 64 };

constexpr uint32_t bitOf(diopiDtype_t dtype) { return dtype < 32 ? uint32_t{1} << dtype : 0; }
constexpr uint32_t bitOf(Layout layout) { return layout; }

/// Dtypes, or layouts, as one mask.
template <class... Words>
constexpr uint32_t maskOf(Words... words) {
    return (uint32_t{0} | ... | bitOf(words));
}

/// A native operator. 0 stands for what the chip says.
struct NativeOperator {
    const char* name;  ///< that of the C function
    uint32_t dtypes;   ///< of maskOf
    uint32_t layouts;  ///< of maskOf; a rank that none of them is about is free
    int maxRank;
    uint64_t alignment = 0;
};

struct Chip {
    const char* name;
    uint32_t dtypes;                  ///< of maskOf
    int maxRank;                      ///< of a tensor
    uint64_t alignment;               ///< bytes that the start of a buffer is a multiple of
    uint64_t memory;                  ///< bytes on each device; 0 where it is not stated
    const NativeOperator* operators;  ///< sorted by name
    std::size_t operatorCount;        ///< 0: every operator is native, within the limits above
};

/// The entry of an operator, null where it is not native. A part behind a slash is left out of the name.
const NativeOperator* findOperator(const Chip& chip, const char* name);

/// Whether the chip takes these buffers for the operator; the text names the buffer and what it breaks.
Status admits(const Chip& chip, const char* name, const Buffer* buffers, std::size_t count);

}  // namespace diopigen::kernels

#endif  // DIOPIGEN_KERNELS_CHIP_H_
