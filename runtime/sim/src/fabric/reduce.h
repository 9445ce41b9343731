// Reductions over the elements of several ranks, always in the order of the ranks.
#ifndef DIOPIGEN_SIM_SRC_FABRIC_REDUCE_H_
#define DIOPIGEN_SIM_SRC_FABRIC_REDUCE_H_

#include <diopi/functions_collective.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace diopigen::sim::fabric {

/// Null for what is no operation.
const char* name_of(diopiReduceOp_t op);
/// Complex numbers have no order, bool no mean.
bool can_reduce(diopiDtype_t dtype, diopiReduceOp_t op);

/// out[i] = parts[0][i] op parts[1][i] op ...; `out` may be one of the parts. Halves are computed in float32 and
/// rounded once. Only where can_reduce.
void reduce_parts(diopiDtype_t dtype, diopiReduceOp_t op, void* out, const std::vector<const void*>& parts,
                  std::size_t count);

}  // namespace diopigen::sim::fabric

#endif  // DIOPIGEN_SIM_SRC_FABRIC_REDUCE_H_
