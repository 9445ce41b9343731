// MSELoss: sums in double.
#include <diopi/functions.h>

#include "classes.h"
#include "diopi_cpu/dense.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiMSELoss(diopiContextHandle_t /*ctx*/, diopiTensorHandle_t out,
                                    diopiConstTensorHandle_t input, diopiConstTensorHandle_t target,
                                    diopiReduction_t reduction) {
    return guarded("diopiMSELoss", [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor input_tensor = tensor("input", input, kFloating);
        const Tensor target_tensor = tensor("target", target, kFloating);
        check_reduction(reduction);
        require_same_dtype(out_tensor, input_tensor);
        require_same_dtype(target_tensor, input_tensor);
        require_same_shape(target_tensor, input_tensor);
        if (reduction == ReductionNone) {
            require_same_shape(out_tensor, input_tensor);
        } else {
            require_shape(out_tensor, {});
        }
        require_one_device({&input_tensor, &out_tensor, &target_tensor});
        require_no_overlap(out_tensor);
        require_disjoint(out_tensor, input_tensor);
        require_disjoint(out_tensor, target_tensor);
        dispatch_compute<kFloating>(input_tensor.dtype, [&](auto sample) {
            using T = decltype(sample);
            const Input<T> x(input_tensor);
            const Input<T> y(target_tensor);
            const Output<T> result(out_tensor);
            double sum = 0;
            for (int64_t i = 0; i < input_tensor.numel; ++i) {
                const T difference = x[i] - y[i];
                if (reduction == ReductionNone) {
                    result[i] = difference * difference;
                } else {
                    sum += static_cast<double>(difference) * difference;
                }
            }
            if (reduction != ReductionNone) {
                const auto count = static_cast<double>(input_tensor.numel);
                result[0] = static_cast<T>(reduction == ReductionMean ? sum / count : sum);
            }
            result.store();
        });
    });
}
