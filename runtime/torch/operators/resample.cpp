// Images and volumes at another size.
#include <diopigen_torch/call.h>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

using Scale = std::optional<double>;

// The interface knows sizes alone. A scale that says the same as they do is none the worse.
void requireOwnScale(int64_t input, int64_t output, const Scale& scale) {
    if (scale.has_value() && *scale > 0 &&
        static_cast<float>(1.0 / *scale) != static_cast<float>(input) / static_cast<float>(output)) {
        decline("a scale apart from the sizes");
    }
}

void requireOwnScales(at::IntArrayRef input, at::IntArrayRef output, std::initializer_list<Scale> scales) {
    size_t dim = 0;
    for (const Scale& scale : scales) {
        requireOwnScale(input[dim + 2], output[dim], scale);
        ++dim;
    }
}

void fillNearest(at::Tensor& out, const at::Tensor& self, at::IntArrayRef size, std::initializer_list<Scale> scales) {
    requireOwnScales(self.sizes(), size, scales);
    if (out.numel() == 0) {
        return;
    }
    Call call(self);
    call("diopiUpsampleNearest", diopiUpsampleNearest, Output(out), Input(call, self, kFloating | kUint8), sizes(size));
}

void fillNearestBackward(at::Tensor& out, const at::Tensor& gradient, at::IntArrayRef size, at::IntArrayRef inputSize,
                         std::initializer_list<Scale> scales) {
    requireOwnScales(inputSize, size, scales);
    if (out.numel() == 0) {
        return;
    }
    Call call(gradient);
    call("diopiUpsampleNearestBackward", diopiUpsampleNearestBackward, Output(out), Input(call, gradient, kFloating),
         sizes(size), sizes(inputSize));
}

void fillLinear(at::Tensor& out, const at::Tensor& self, at::IntArrayRef size, bool corners, const char* mode,
                std::initializer_list<Scale> scales) {
    if (!corners) {
        requireOwnScales(self.sizes(), size, scales);
    }
    if (out.numel() == 0) {
        return;
    }
    Call call(self);
    call("diopiUpsampleLinear", diopiUpsampleLinear, Output(out), Input(call, self, kFloating), sizes(size), corners,
         mode);
}

void fillLinearBackward(at::Tensor& out, const at::Tensor& gradient, at::IntArrayRef size, at::IntArrayRef inputSize,
                        bool corners, const char* mode, std::initializer_list<Scale> scales) {
    if (!corners) {
        requireOwnScales(inputSize, size, scales);
    }
    if (out.numel() == 0) {
        return;
    }
    Call call(gradient);
    call("diopiUpsampleLinearBackward", diopiUpsampleLinearBackward, Output(out), Input(call, gradient, kFloating),
         sizes(size), sizes(inputSize), corners, mode);
}

}  // namespace

void upsampleNearest1d(at::Tensor& out, const at::Tensor& self, at::IntArrayRef output_size, Scale scales) {
    fillNearest(out, self, output_size, {scales});
}

void upsampleNearest2d(at::Tensor& out, const at::Tensor& self, at::IntArrayRef output_size, Scale scales_h,
                       Scale scales_w) {
    fillNearest(out, self, output_size, {scales_h, scales_w});
}

void upsampleNearest3d(at::Tensor& out, const at::Tensor& self, at::IntArrayRef output_size, Scale scales_d,
                       Scale scales_h, Scale scales_w) {
    fillNearest(out, self, output_size, {scales_d, scales_h, scales_w});
}

void upsampleNearest1dBackward(at::Tensor& grad_input, const at::Tensor& grad_output, at::IntArrayRef output_size,
                               at::IntArrayRef input_size, Scale scales) {
    fillNearestBackward(grad_input, grad_output, output_size, input_size, {scales});
}

void upsampleNearest2dBackward(at::Tensor& grad_input, const at::Tensor& grad_output, at::IntArrayRef output_size,
                               at::IntArrayRef input_size, Scale scales_h, Scale scales_w) {
    fillNearestBackward(grad_input, grad_output, output_size, input_size, {scales_h, scales_w});
}

void upsampleNearest3dBackward(at::Tensor& grad_input, const at::Tensor& grad_output, at::IntArrayRef output_size,
                               at::IntArrayRef input_size, Scale scales_d, Scale scales_h, Scale scales_w) {
    fillNearestBackward(grad_input, grad_output, output_size, input_size, {scales_d, scales_h, scales_w});
}

void upsampleLinear1d(at::Tensor& out, const at::Tensor& self, at::IntArrayRef output_size, bool align_corners,
                      Scale scales) {
    fillLinear(out, self, output_size, align_corners, "linear", {scales});
}

void upsampleBilinear2d(at::Tensor& out, const at::Tensor& self, at::IntArrayRef output_size, bool align_corners,
                        Scale scales_h, Scale scales_w) {
    fillLinear(out, self, output_size, align_corners, "bilinear", {scales_h, scales_w});
}

void upsampleBicubic2d(at::Tensor& out, const at::Tensor& self, at::IntArrayRef output_size, bool align_corners,
                       Scale scales_h, Scale scales_w) {
    fillLinear(out, self, output_size, align_corners, "bicubic", {scales_h, scales_w});
}

void upsampleTrilinear3d(at::Tensor& out, const at::Tensor& self, at::IntArrayRef output_size, bool align_corners,
                         Scale scales_d, Scale scales_h, Scale scales_w) {
    fillLinear(out, self, output_size, align_corners, "trilinear", {scales_d, scales_h, scales_w});
}

void upsampleLinear1dBackward(at::Tensor& grad_input, const at::Tensor& grad_output, at::IntArrayRef output_size,
                              at::IntArrayRef input_size, bool align_corners, Scale scales) {
    fillLinearBackward(grad_input, grad_output, output_size, input_size, align_corners, "linear", {scales});
}

void upsampleBilinear2dBackward(at::Tensor& grad_input, const at::Tensor& grad_output, at::IntArrayRef output_size,
                                at::IntArrayRef input_size, bool align_corners, Scale scales_h, Scale scales_w) {
    fillLinearBackward(grad_input, grad_output, output_size, input_size, align_corners, "bilinear",
                       {scales_h, scales_w});
}

void upsampleBicubic2dBackward(at::Tensor& grad_input, const at::Tensor& grad_output, at::IntArrayRef output_size,
                               at::IntArrayRef input_size, bool align_corners, Scale scales_h, Scale scales_w) {
    fillLinearBackward(grad_input, grad_output, output_size, input_size, align_corners, "bicubic",
                       {scales_h, scales_w});
}

void upsampleTrilinear3dBackward(at::Tensor& grad_input, const at::Tensor& grad_output, at::IntArrayRef output_size,
                                 at::IntArrayRef input_size, bool align_corners, Scale scales_d, Scale scales_h,
                                 Scale scales_w) {
    fillLinearBackward(grad_input, grad_output, output_size, input_size, align_corners, "trilinear",
                       {scales_d, scales_h, scales_w});
}

}  // namespace diopigen::backend::kernels
