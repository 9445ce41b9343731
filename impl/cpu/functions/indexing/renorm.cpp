// EmbeddingRenorm_: rows of a table cut to a norm.
#include <diopi/functions.h>

#include "kernels.h"
#include "positions.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiEmbeddingRenorm_(diopiContextHandle_t ctx, diopiTensorHandle_t inout,
                                             diopiConstTensorHandle_t indices, double max_norm, double norm_type) {
    return guarded("diopiEmbeddingRenorm_", ctx, [&] {
        const Tensor table = tensor("inout", inout, kFloating);
        const Tensor indices_tensor = tensor("indices", indices, kIndex);
        require_rank(table, 2, 2);
        require_one_device({&table, &indices_tensor});
        require_no_overlap(table);
        require_disjoint(table, indices_tensor);
        const Positions positions(indices_tensor, table.shape[0]);
        cut_rows(table, positions, max_norm, norm_type);
    });
}
