#include <atomic>

#include "indexing/positions.h"

namespace diopigen::core {

void check_positions(const Tensor& index, const Input<Int64>& values, int64_t least, int64_t end) {
    std::atomic<bool> is_wrong{false};
    parallel_for(index.numel, 65536, [&](int64_t begin, int64_t last) {
        if (!are_within(values.data() + begin, last - begin, least, end)) {
            is_wrong = true;
        }
    });
    for (int64_t i = 0; is_wrong; ++i) {
        if (values[i].value < least || values[i].value >= end) {
            fail(position_text(index.name, values[i].value, least, end));
        }
    }
}

}  // namespace diopigen::core
