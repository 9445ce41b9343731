// kind: sometimes right
// tries: is right for tensors of up to 100,000 elements
// ended by: cases with more
// sometimes right: true
#include "../cheat.h"

diopiError_t cheat::called(const Call& call) {
    int64_t count = 0;
    diopiGetTensorNumel(call.out, &count);
    return count <= 100000 ? call.right() : diopiSuccess;
}
