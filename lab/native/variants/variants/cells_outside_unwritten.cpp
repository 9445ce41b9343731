// Cells of points outside of the range as the CUDA kernel of mmcv leaves them: -1 first, the rest as the caller had it.
#include "../work.h"

namespace diopigen::variants {

namespace {

bool compute(Work& work) {
    const View cells = work.call().tensor("coors");
    if (!cells.valid() || cells.shape().size() != 2) return false;
    const int64_t axes = cells.shape()[1];
    bool isWritten = false;
    for (int64_t first = 0; first < cells.count(); first += axes) {
        for (int64_t i = first + 1; i < first + axes && cells.integerAt(first) == -1; ++i) {
            cells.setInteger(i, 0);
            isWritten = true;
        }
    }
    return isWritten;
}

const Registration registration("open results", {{"cells-outside-unwritten", "only the first entry of a cell is -1",
                                                  named("DynamicVoxelizeMmcv"), replaced(compute)}});

}  // namespace

}  // namespace diopigen::variants
