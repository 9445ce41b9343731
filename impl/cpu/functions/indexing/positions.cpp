#include "positions.h"

namespace diopi::cpu {

void fail_position(const Tensor& index, int64_t value, int64_t least, int64_t end) {
    fail(std::string("parameter '") + index.name + "' holds the position " + std::to_string(value) +
         ", but must lie in [" + std::to_string(least) + ", " + std::to_string(end - 1) + "]");
}

}  // namespace diopi::cpu
