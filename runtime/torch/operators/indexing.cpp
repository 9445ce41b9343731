// Elements, rows and positions that index tensors and masks name.
#include <ATen/Context.h>
#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>
#include <diopigen_torch/call.h>
#include <diopigen_torch/compose.h>
#include <diopigen_torch/forms.h>

#include <vector>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

using Indices = c10::List<std::optional<at::Tensor>>;

// Index tensors of the device, null where a dimension is taken whole.
class IndexList {
  public:
    IndexList(Call& call, const at::Tensor& self, const Indices& indices) {
        tensors_.reserve(indices.size());
        for (const std::optional<at::Tensor>& index : indices) {
            const bool is_here = is_defined(index) && index->device() == self.device();
            tensors_.push_back(is_here ? *index : is_defined(index) ? index->to(self.device()) : at::Tensor());
        }
        for (const at::Tensor& tensor : tensors_) {
            if (tensor.defined() && !is_in(kIndex | kMask, tensor.scalar_type())) {
                fall_back("positions of this dtype");
            }
            handles_.push_back(tensor.defined() ? handle(tensor) : nullptr);
        }
    }
    diopiConstTensorHandle_t* data() { return handles_.data(); }
    int64_t size() const { return static_cast<int64_t>(handles_.size()); }

  private:
    std::vector<at::Tensor> tensors_;
    std::vector<diopiConstTensorHandle_t> handles_;
};

// Positions along one dimension: an integer tensor of at most one dimension.
at::Tensor positions(const at::Tensor& self, const at::Tensor& index) {
    if (self.dim() == 0 || index.dim() > 1 || !is_in(kIndex, index.scalar_type())) {
        fall_back("PyTorch rejects this, or has a rule of its own for it");
    }
    return index.reshape({-1});
}

at::DimVector sizes_after_select(const at::Tensor& self, int64_t dim, int64_t count) {
    at::DimVector size(self.sizes());
    size[static_cast<size_t>(dim)] = count;
    return size;
}

void fill_rows(at::Tensor& out, const at::Tensor& self, int64_t dim, const at::Tensor& index) {
    Call call(self);
    call("diopiIndexSelect", diopiIndexSelect, Output(out), Input(call, self), dim, Input(call, index));
}

at::Tensor positions_of_nonzero(const at::Tensor& self) {
    Call call(self);
    const Allocated selected;
    call("diopiNonzero", diopiNonzero, selected, Input(call, self));
    return selected.tensor();
}

// Full slices, and then positions.
Indices along(int64_t dim, const at::Tensor& index) {
    Indices indices;
    for (int64_t i = 0; i < dim; ++i) {
        indices.push_back(std::optional<at::Tensor>());
    }
    indices.push_back(index);
    return indices;
}

void require_refilled(const at::Tensor& self, const at::Tensor& index) {
    at::assert_no_internal_overlap(self);
    at::assert_no_overlap(self, index);
    if (index.scalar_type() != at::kLong) {
        fall_back("PyTorch rejects this");
    }
}

at::Tensor selected_by_mask(const at::Tensor& self, const at::Tensor& mask) {
    TORCH_CHECK(mask.scalar_type() == at::kBool, "masked_select: expected BoolTensor for mask");
    const auto [whole, flags] = at::expand_outplace(self, mask);
    Call call(self);
    const Allocated selected;
    call("diopiMaskedSelect", diopiMaskedSelect, selected, Input(call, *whole), Input(call, *flags));
    return selected.tensor();
}

}  // namespace

at::Tensor& index_select(const at::Tensor& self, int64_t dim, const at::Tensor& index, at::Tensor& out) {
    const at::Tensor selected = positions(self, index);
    const int64_t wrapped = at::maybe_wrap_dim(dim, self.dim());
    if (out.defined()) {
        TORCH_CHECK(self.scalar_type() == out.scalar_type(),
                    "index_select(): self and result must have the same scalar type");
        at::assert_no_internal_overlap(out);
        at::assert_no_overlap(out, self);
        at::assert_no_overlap(out, selected);
    }
    make_or_resize(out, sizes_after_select(self, wrapped, selected.numel()), self.options());
    fill_rows(out, self, wrapped, selected);
    return out;
}

at::Tensor nonzero(const at::Tensor& self) { return positions_of_nonzero(self); }

at::Tensor& nonzero_static(const at::Tensor& self, int64_t size, int64_t fill_value, at::Tensor& out) {
    TORCH_CHECK(size >= 0, "nonzero_static: 'size' must be an non-negative integer");
    TORCH_CHECK(!out.defined() || out.scalar_type() == at::kLong,
                "nonzero_static: Expected out tensor to have scalar type Long but got "
                "scalar type ",
                out.scalar_type());
    const at::Tensor found = positions_of_nonzero(self);
    const int64_t count = std::min(size, found.size(0));
    make_or_resize(out, {size, self.dim()}, found.options());
    out.fill_(fill_value);
    out.narrow(0, 0, count).copy_(found.narrow(0, 0, count));
    return out;
}

at::Tensor masked_select(const at::Tensor& self, const at::Tensor& mask) { return selected_by_mask(self, mask); }

void index_tensor(at::Tensor& out, at::ScalarType type, const at::Tensor& self,
                  const c10::List<std::optional<at::Tensor>>& indices) {
    Call call(self);
    IndexList list(call, self, indices);
    const Allocated selected(call, out);
    call("diopiIndex", diopiIndex, selected, Input(call, self), list.data(), list.size());
    selected.move_to(out);
}

at::Tensor& index_put_impl_inplace(at::Tensor& self, const c10::List<std::optional<at::Tensor>>& indices,
                                   const at::Tensor& values, bool accumulate, bool unsafe) {
    TORCH_CHECK_INDEX(static_cast<int64_t>(indices.size()) <= self.dim(), "too many indices for tensor of dimension ",
                      self.dim(), " (got ", indices.size(), ")");
    TORCH_CHECK(self.scalar_type() == values.scalar_type(),
                "Index put requires the source and destination dtypes match, got ", self.scalar_type(),
                " for the destination and ", values.scalar_type(), " for the source.");
    at::assert_no_internal_overlap(self);
    at::assert_no_overlap(self, values);
    for (const std::optional<at::Tensor>& index : indices) {
        if (is_defined(index)) {
            if (index->scalar_type() == at::kByte) {
                TORCH_WARN("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.");
            }
            at::assert_no_overlap(self, *index);
        }
    }
    Call call(self);
    IndexList list(call, self, indices);
    const at::Tensor replacement = values.device() != self.device() && values.numel() == 1 && values.dim() == 0
                                       ? values.to(self.device())
                                       : values;
    call("diopiIndexPutInp", diopiIndexPutInp, Output(self), Input(call, replacement), list.data(), list.size(),
         accumulate);
    return self;
}

at::Tensor& index_fill_inplace_int_scalar(at::Tensor& self, int64_t dim, const at::Tensor& index,
                                          const at::Scalar& value) {
    require_refilled(self, index);
    const at::Tensor selected = positions(self, index);
    Call call(self);
    call("diopiIndexFillInpScalar", diopiIndexFillInpScalar, Output(self), at::maybe_wrap_dim(dim, self.dim()),
         Input(call, selected), Number(value, self.scalar_type()));
    return self;
}

at::Tensor& index_fill_inplace_int_tensor(at::Tensor& self, int64_t dim, const at::Tensor& index,
                                          const at::Tensor& value) {
    TORCH_CHECK(value.dim() == 0, "index_fill_ only supports a 0-dimensional value tensor, but got tensor with ",
                value.dim(), " dimension(s).");
    return index_fill_inplace_int_scalar(self, dim, index, value.item());
}

namespace {

// A tensor that may be read while `written` is written: views of one memory that PyTorch cannot tell apart are copied.
at::Tensor apart_from(const at::Tensor& written, const at::Tensor& read) {
    return read.is_alias_of(written) ? read.clone() : read;
}

}  // namespace

void index_add(at::Tensor& out, const at::Tensor& self, int64_t dim, const at::Tensor& index, const at::Tensor& source,
               const at::Scalar& alpha) {
    const at::Tensor selected = positions(self, index);
    require_fits(out.scalar_type(), alpha);
    if (out.scalar_type() == at::kBool) {
        fall_back("sums of this dtype");
    }
    const bool is_one = !alpha.isComplex() && alpha.toDouble() == 1;
    const bool is_whole = at::isIntegralType(source.scalar_type(), /*includeBool=*/false);  // the factor is cut off
    const at::Tensor summand =
        is_one ? apart_from(out, source) : source.mul(is_whole ? at::Scalar(alpha.toLong()) : alpha);
    if (!out.is_same(self)) {
        out.copy_(self);
    }
    // As on the CPU, positions in a matrix without elements are not looked at.
    if (selected.numel() != 0 && (out.numel() != 0 || out.dim() < 2)) {
        index_put_impl_inplace(out, along(at::maybe_wrap_dim(dim, self.dim()), selected), summand, /*accumulate=*/true,
                               false);
    }
}

void index_copy(at::Tensor& out, const at::Tensor& self, int64_t dim, const at::Tensor& index,
                const at::Tensor& source) {
    const at::Tensor selected = positions(self, index);
    const at::Tensor values = apart_from(out, source);
    if (!out.is_same(self)) {
        out.copy_(self);
    }
    const int64_t wrapped = at::maybe_wrap_dim(dim, self.dim());
    if (selected.numel() != 0 && (out.numel() != 0 || out.dim() < 2 || out.size(wrapped) == 0)) {
        index_put_impl_inplace(out, along(wrapped, selected), values, /*accumulate=*/false, false);
    }
}

at::Tensor take(const at::Tensor& self, const at::Tensor& index) {
    TORCH_CHECK(index.scalar_type() == at::kLong, "take(): Expected a long tensor for index, but got ",
                index.scalar_type());
    if (self.numel() == 0) {
        fall_back("PyTorch rejects this unless nothing is taken");
    }
    return self.reshape({-1}).index(along(0, index));
}

at::Tensor& put_inplace(at::Tensor& self, const at::Tensor& index, const at::Tensor& source, bool accumulate) {
    if (index.scalar_type() != at::kLong || self.scalar_type() != source.scalar_type() ||
        index.numel() != source.numel() || (self.numel() == 0 && index.numel() != 0)) {
        fall_back("PyTorch rejects this");
    }
    if (!accumulate) {
        at::globalContext().alertNotDeterministic("put_");
    }
    at::assert_no_internal_overlap(self);
    at::assert_no_overlap(self, index);
    at::assert_no_overlap(self, source);
    if (index.numel() == 0) {
        return self;
    }
    at::Tensor flat = self.is_contiguous() ? self.view({-1}) : self.reshape({-1});
    index_put_impl_inplace(flat, along(0, index.reshape({-1})), source.reshape({-1}), accumulate, false);
    return self.is_contiguous() ? self : self.copy_(flat.view(self.sizes()));
}

at::Tensor& masked_scatter_inplace(at::Tensor& self, const at::Tensor& mask, const at::Tensor& source) {
    TORCH_CHECK(self.scalar_type() == source.scalar_type(),
                "masked_scatter: expected self and source to have same dtypes but got ", self.scalar_type(), " and ",
                source.scalar_type());
    TORCH_CHECK(mask.scalar_type() == at::kBool,
                "masked_scatter_ only supports boolean masks, but got mask with dtype ", mask.scalar_type());
    at::assert_no_internal_overlap(self);
    const auto flags = at::expand_inplace(self, mask, "masked_scatter_");
    at::Tensor result = at::empty(self.sizes(), self.options());
    Call call(self);
    call("diopiMaskedScatter", diopiMaskedScatter, Output(result), Input(call, self), Input(call, *flags),
         Input(call, source));
    return self.copy_(result);
}

// torch's own way is index_select, which has no padding and knows no table.
at::Tensor embedding(const at::Tensor& weight, const at::Tensor& indices, int64_t padding_idx, bool scale_grad_by_freq,
                     bool sparse) {
    TORCH_CHECK(weight.dim() == 2, "'weight' must be 2-D");
    if (weight.numel() == 0 || indices.numel() == 0) {
        fall_back("nothing to look up");
    }
    Call call(weight);
    const Input table(call, weight, kFloating);
    const Input selected(call, indices, kIndex);
    std::vector<int64_t> sizes = indices.sizes().vec();
    sizes.push_back(weight.size(1));
    at::Tensor out = at::empty(sizes, weight.options());
    call("diopiEmbedding", diopiEmbedding, Output(out), table, selected, padding_idx, scale_grad_by_freq, sparse);
    return out;
}

at::Tensor embedding_dense_backward(const at::Tensor& grad_output, const at::Tensor& indices, int64_t num_weights,
                                    int64_t padding_idx, bool scale_grad_by_freq) {
    Call call(grad_output);
    const Input gradient(call, grad_output, kFloating);
    const Input selected(call, indices, kIndex);
    at::Tensor out = at::empty({num_weights, grad_output.size(-1)}, grad_output.options());
    call("diopiEmbeddingBackward", diopiEmbeddingBackward, Output(out), gradient, selected, num_weights, padding_idx,
         scale_grad_by_freq, false);
    return out;
}

at::Tensor& embedding_renorm_inplace(at::Tensor& self, const at::Tensor& indices, double max_norm, double norm_type) {
    if (self.dim() != 2 || !is_in(kFloating, self.scalar_type())) {
        fall_back("a table of this kind");
    }
    Call call(self);
    call("diopiEmbeddingRenorm_", diopiEmbeddingRenorm_, Output(self), Input(call, indices, kIndex), max_norm,
         norm_type);
    return self;
}

}  // namespace diopigen::backend::kernels
