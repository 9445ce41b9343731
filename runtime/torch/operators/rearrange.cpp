// Elements in another order or place: flips, rolls and sliding windows.
#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/native/im2col_shape_check.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <diopigen_torch/call.h>
#include <diopigen_torch/forms.h>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

bool is_pair(at::IntArrayRef array) { return array.size() == 2; }

// The sizes of the columns of images, or of the images that columns form, after `batch` leading dimensions.
at::DimVector with_batch(const at::Tensor& self, int64_t rank, std::initializer_list<int64_t> rest) {
    at::DimVector size;
    if (self.dim() == rank) {
        size.push_back(self.size(0));
    }
    size.append(rest.begin(), rest.end());
    return size;
}

int64_t windows(int64_t size, int64_t kernel, int64_t dilation, int64_t padding, int64_t stride) {
    return (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
}

}  // namespace

at::Tensor flip(const at::Tensor& self, at::IntArrayRef dims) {
    at::dim_list_to_bitset(dims, self.dim());
    at::Tensor out = at::empty_like(self);
    if (self.numel() != 0) {
        Call call(self);
        call("diopiFlip", diopiFlip, Output(out), Input(call, self), sizes(dims));
    }
    return out;
}

at::Tensor roll(const at::Tensor& self, at::IntArrayRef shifts, at::IntArrayRef dims) {
    TORCH_CHECK(!shifts.empty(), "`shifts` required");
    TORCH_CHECK(shifts.size() == dims.size() || (dims.empty() && shifts.size() == 1),
                "shifts and dimensions must align. shifts: ", shifts.size(), ", dims:", dims.size());
    for (const int64_t dim : dims) {
        at::maybe_wrap_dim(dim, self.dim(), /*wrap_scalar=*/false);
    }
    at::Tensor out = at::empty_like(self, at::MemoryFormat::Contiguous);
    if (self.numel() == 0) {
        return out;
    }
    if (self.dim() == 0) {
        return out.copy_(self);
    }
    Call call(self);
    call("diopiRoll", diopiRoll, Output(out), Input(call, self), sizes(shifts), sizes(dims));
    return out;
}

at::Tensor& im2col(const at::Tensor& self, at::IntArrayRef kernel_size, at::IntArrayRef dilation,
                   at::IntArrayRef padding, at::IntArrayRef stride, at::Tensor& out) {
    if (!is_pair(kernel_size) || !is_pair(dilation) || !is_pair(padding) || !is_pair(stride)) {
        fall_back("PyTorch rejects this");
    }
    at::native::im2col_shape_check(self, at::Tensor(), kernel_size[0], kernel_size[1], dilation[0], dilation[1],
                                   padding[0], padding[1], stride[0], stride[1]);
    const int64_t count = windows(self.size(-2), kernel_size[0], dilation[0], padding[0], stride[0]) *
                          windows(self.size(-1), kernel_size[1], dilation[1], padding[1], stride[1]);
    Call call(self);
    const Input images(call, self, kFloating | kComplex | kBool);
    make_or_resize(out, with_batch(self, 4, {self.size(-3) * kernel_size[0] * kernel_size[1], count}), self.options());
    call("diopiIm2Col", diopiIm2Col, Output(out), images, sizes(kernel_size), sizes(dilation), sizes(padding),
         sizes(stride));
    return out;
}

at::Tensor& col2im(const at::Tensor& self, at::IntArrayRef output_size, at::IntArrayRef kernel_size,
                   at::IntArrayRef dilation, at::IntArrayRef padding, at::IntArrayRef stride, at::Tensor& out) {
    if (!is_pair(output_size) || !is_pair(kernel_size) || !is_pair(dilation) || !is_pair(padding) || !is_pair(stride)) {
        fall_back("PyTorch rejects this");
    }
    at::native::col2im_shape_check(self, at::Tensor(), output_size[0], output_size[1], kernel_size[0], kernel_size[1],
                                   dilation[0], dilation[1], padding[0], padding[1], stride[0], stride[1]);
    Call call(self);
    const Input columns(call, self, kFloating | kComplex);
    const int64_t channels = self.size(-2) / (kernel_size[0] * kernel_size[1]);
    make_or_resize(out, with_batch(self, 3, {channels, output_size[0], output_size[1]}), self.options());
    call("diopiCol2Im", diopiCol2Im, Output(out), columns, sizes(output_size), sizes(kernel_size), sizes(dilation),
         sizes(padding), sizes(stride));
    return out;
}

at::Tensor unfold_backward(const at::Tensor& grad_in, at::IntArrayRef input_sizes, int64_t dim, int64_t size,
                           int64_t step) {
    Call call(grad_in);
    const Input gradient(call, grad_in, kFloating | kComplex);
    at::Tensor out = at::empty(input_sizes, grad_in.options());
    if (input_sizes.empty()) {
        fall_back("a tensor without dimensions");
    }
    call("diopiUnfoldBackward", diopiUnfoldBackward, Output(out), gradient, sizes(input_sizes), dim, size, step);
    return out;
}

}  // namespace diopigen::backend::kernels
