// Nms: boxes from the highest score down, without those that overlap a selected one too much.
#include "detection.h"
#include "detection_kernels.h"

using namespace diopigen::core;

diopiTensorHandle_t diopigen::core::rows_as_tensor(diopiContextHandle_t ctx, const Buffer& rows, int64_t found,
                                                   const Tensor& like) {
    const Tensor result = new_tensor(ctx, "out", {found}, Dtype::kInt64, like);
    if (found > 0) {
        Tensor from = result;
        from.data = rows.data();
        copy_elements(result, from);
    }
    return result.handle;
}

void diopigen::entry::nms(const NmsArgs& args) {
    int64_t found = 0;
    const Buffer rows = keep_boxes(args.boxes, args.confidence, args.iou_threshold, 0, found);
    *args.out = rows_as_tensor(args.ctx, rows, found, args.boxes);
}

void diopigen::entry::nms_mmcv(const NmsMmcvArgs& args) {
    int64_t found = 0;
    const Buffer rows = keep_boxes(args.dets, args.scores, args.iou_threshold, args.offset, found);
    *args.out = rows_as_tensor(args.ctx, rows, found, args.dets);
}
