// OneHot: a row of zeros with a single 1 for every class number.
#include <diopi/functions.h>

#include "positions.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiOneHot(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                   diopiConstTensorHandle_t input, int64_t num_classes) {
    return guarded("diopiOneHot", [&] {
        const Tensor out_tensor = tensor("out", out, kIndex);
        const Tensor input_tensor = tensor("input", input, kIndex);
        require(num_classes == -1 || num_classes >= 1, "parameter 'num_classes' is neither -1 nor at least 1");
        int64_t classes = num_classes;
        if (num_classes == -1) {
            require(input_tensor.numel > 0,
                    "parameter 'input' is empty, so that it does not tell the number of classes");
            const Input<Int64> numbers(input_tensor);
            int64_t largest = 0;
            for (int64_t i = 0; i < input_tensor.numel; ++i) {
                require(numbers[i].value >= 0, "parameter 'input' holds a negative class");
                largest = std::max(largest, numbers[i].value);
            }
            require(largest < INT64_MAX, "parameter 'input' holds too large a class");
            classes = largest + 1;
        }
        std::vector<int64_t> shape = shape_of(input_tensor);
        shape.push_back(classes);
        require_shape(out_tensor, shape);
        require_one_device({&out_tensor, &input_tensor});
        require_no_overlap(out_tensor);
        require_disjoint(out_tensor, input_tensor);
        const Positions positions(input_tensor, classes);
        dispatch<kIndex>(out_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const NewWords rows(out_tensor);
            T* elements = rows.as<T>();
            parallel_for(positions.count(), row_grain(classes), [&](int64_t begin, int64_t end) {
                std::fill(elements + begin * classes, elements + end * classes, T(0));
                for (int64_t i = begin; i < end; ++i) {
                    elements[i * classes + positions[i]] = T(1);
                }
            });
            rows.store();
        });
    });
}
