#include "indexing/indexing_kernels.h"

namespace diopigen::core {

int64_t largest_class(const Tensor& classes) {
    const Input<Int64> numbers(classes);
    int64_t largest = 0;
    for (int64_t i = 0; i < classes.numel; ++i) {
        if (numbers[i].value < 0) {
            return -1;
        }
        largest = std::max(largest, numbers[i].value);
    }
    return largest;
}

void mark_classes(const Tensor& out, const Positions& positions) {
    const int64_t classes = positions.size();
    dispatch<kIndex>(out.dtype, [&](auto sample) {
        using T = decltype(sample);
        const RawOutput rows(out);
        T* elements = rows.as<T>();
        parallel_for(positions.count(), row_grain(classes), [&](int64_t begin, int64_t end) {
            std::fill(elements + begin * classes, elements + end * classes, T(0));
            for (int64_t i = begin; i < end; ++i) {
                elements[i * classes + positions[i]] = T(1);
            }
        });
        rows.store();
    });
}

}  // namespace diopigen::core
