// Nms: boxes from the highest score down, without those that overlap a kept one too much.
#include <diopi/functions.h>

#include "kernels.h"

using namespace diopi::cpu;

DIOPI_API diopiError_t diopiNms(diopiContextHandle_t ctx, diopiTensorHandle_t* out, diopiConstTensorHandle_t boxes,
                                diopiConstTensorHandle_t confidence, double iou_threshold) {
    return guarded("diopiNms", ctx, [&] {
        require(out != nullptr, "parameter 'out' is null");
        constexpr DtypeSet kAllowed = kFloat16 | kFloat32 | kFloat64;
        const Tensor boxes_tensor = tensor("boxes", boxes, kAllowed);
        const Tensor confidence_tensor = tensor("confidence", confidence, kAllowed);
        require_same_dtype(confidence_tensor, boxes_tensor);
        require_rank(boxes_tensor, 2, 2);
        const int64_t count = boxes_tensor.shape[0];
        require_shape(boxes_tensor, {count, 4});
        require_shape(confidence_tensor, {count});
        require_one_device({&boxes_tensor, &confidence_tensor});
        int64_t found = 0;
        const Buffer kept = keep_boxes(boxes_tensor, confidence_tensor, iou_threshold, found);
        const Tensor result = new_tensor(ctx, "out", {found}, Dtype::kInt64, boxes_tensor);
        if (found > 0) {
            Tensor rows = result;
            rows.data = kept.data();
            copy_elements(result, rows);
        }
        *out = result.handle;
    });
}
