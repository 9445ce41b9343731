// MatmulAllReduce for one rank: this library knows no communication groups, so the product is its own sum.
#include <diopi/functions_ext.h>

#include "../linalg_matmul/batches.h"
#include "operands.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiMatmulAllReduce(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                            diopiConstTensorHandle_t x1, diopiConstTensorHandle_t x2,
                                            diopiConstTensorHandle_t bias, const char* group, const char* reduce_op,
                                            int64_t comm_turn, int64_t /*stream_mode*/) {
    return guarded("diopiMatmulAllReduce", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor left = tensor("x1", x1, kFloating);
        const Tensor right = tensor("x2", x2, kFloating);
        const Tensor bias_tensor = optional_tensor("bias", bias, kFloating);
        require_rank(left, 2);
        require_rank(right, 2, 2);
        const int64_t inner = left.shape[left.rank - 1];
        const int64_t columns = right.shape[1];
        require_shape(right, {inner, columns});
        std::vector<int64_t> shape = shape_of(left);
        shape.back() = columns;
        require_shape(out_tensor, shape);
        require_same_dtype(out_tensor, left);
        require_same_dtype(right, left);
        if (!bias_tensor.is_null()) {
            require_same_dtype(bias_tensor, left);
            require_shape(bias_tensor, {columns});
        }
        require_text("reduce_op", reduce_op, {"sum"});
        require(comm_turn >= 0, "comm_turn.range: comm_turn is at least 0");
        require(group != nullptr, "parameter 'group' is null");
        require(*group == '\0', "C2: group names a group that this process belongs to");
        attention::require_separate({&out_tensor}, {&left, &right, &bias_tensor});
        const AsMatrix result(out_tensor, false);
        const AsMatrix rows(left);
        const View factors = as_batch(right);
        multiply_tensors(result.tensor(), rows.tensor(), factors.tensor(), Number::of(1), Number::of(1), bias_tensor);
        result.store();
    });
}
