// OneHot: a row of zeros with a single 1 for every class number.
#include <diopi/functions.h>

#include "kernels.h"
#include "positions.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiOneHot(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input,
                                   int64_t num_classes) {
    return guarded("diopiOneHot", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kIndex);
        const Tensor input_tensor = tensor("input", input, kIndex);
        require(num_classes == -1 || num_classes >= 1, "parameter 'num_classes' is neither -1 nor at least 1");
        int64_t classes = num_classes;
        if (num_classes == -1) {
            require(input_tensor.numel > 0,
                    "parameter 'input' is empty, so that it does not tell the number of classes");
            const int64_t largest = largest_class(input_tensor);
            require(largest >= 0, "parameter 'input' holds a negative class");
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
        mark_classes(out_tensor, positions);
    });
}
