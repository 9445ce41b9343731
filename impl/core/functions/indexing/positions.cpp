#include "positions.h"

namespace diopigen::core {

std::string position_text(const char* index, int64_t value, int64_t least, int64_t end) {
    return std::string("parameter '") + index + "' holds the position " + std::to_string(value) + ", but must be in [" +
           std::to_string(least) + ", " + std::to_string(end - 1) + "]";
}

}  // namespace diopigen::core
