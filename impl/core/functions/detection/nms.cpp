// Nms: boxes from the highest score down, without those that overlap a selected one too much.
#include "detection_mmcv.h"
#include "kernels.h"

using namespace diopi::core;

void diopi::kernels::nms(const NmsArgs& args) {
    int64_t found = 0;
    const Buffer selected = keep_boxes(args.boxes, args.confidence, args.iou_threshold, found);
    const Tensor result = new_tensor(args.ctx, "out", {found}, Dtype::kInt64, args.boxes);
    if (found > 0) {
        Tensor rows = result;
        rows.data = selected.data();
        copy_elements(result, rows);
    }
    *args.out = result.handle;
}
