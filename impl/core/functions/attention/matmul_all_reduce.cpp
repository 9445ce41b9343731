// MatmulAllReduce for one rank: this library knows no communication groups, so the product is its own sum.
#include "../linalg_matmul/batches.h"
#include "attention.h"
#include "operands.h"

using namespace diopigen::core;

void diopigen::entry::matmul_all_reduce(const MatmulAllReduceArgs& args) {
    require(args.group.empty(), "C2: group names a group that this process belongs to");
    require(args.bias.is_null() || args.bias.rank == 1, "this library takes a 'bias' of 1 dimension");
    attention::require_separate({&args.out}, {&args.x1, &args.x2, &args.bias});
    const AsMatrix result(args.out, false);
    const AsMatrix rows(args.x1);
    const View factors = as_batch(args.x2);
    multiply_tensors(result.tensor(), rows.tensor(), factors.tensor(), Number::of(1), Number::of(1), args.bias);
    result.store();
}
