// What a chip can do, as a table: `diopigen chip FILE.yaml` writes it, and launches are held to it.
#ifndef DIOPIGEN_SIM_CHIP_H_
#define DIOPIGEN_SIM_CHIP_H_

#include <diopi/diopirt.h>
#include <diopigen_sim/status.h>

#include <cstddef>
#include <cstdint>

namespace diopigen::sim {

struct Buffer;

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
};

struct Chip {
    const char* name;
    uint32_t dtypes;     ///< of maskOf
    int maxRank;         ///< of a tensor
    uint64_t alignment;  ///< bytes that the start of a buffer is a multiple of
    uint64_t memory;     ///< bytes on each device; 0 leaves the limit as it is. DIOPI_SIM_MEMORY comes first.
    const NativeOperator* operators;  ///< sorted by name
    std::size_t operatorCount;
};

/// From now on launches are held to `chip`, which must stay alive; null lifts all restrictions. At first there are
/// none. Before the first allocation its memory is the limit of every device.
Status setChip(const Chip* chip);
const Chip* chip();

/// The entry of an operator, null where it is not native. A part behind a slash is left out of the name.
const NativeOperator* findOperator(const Chip& chip, const char* name);

/// Whether the chip takes these buffers for the operator; the text names the buffer and what it breaks.
Status admits(const Chip& chip, const char* name, const Buffer* buffers, std::size_t count);

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_CHIP_H_
