// Reductions that have no meta function of PyTorch, or that the interface says of one dimension or of all.
#include <ATen/WrapDimUtilsMulti.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <diopigen_torch/call.h>
#include <diopigen_torch/compose.h>
#include <diopigen_torch/forms.h>

#include "kernels.h"

namespace diopigen::backend::kernels {

namespace {

// The dimensions of a reduction: none means all.
at::DimVector dimensions(const at::Tensor& self, at::OptionalIntArrayRef dim) {
    at::DimVector all;
    if (dim.has_value() && !dim->empty()) {
        at::dim_list_to_bitset(*dim, self.dim());
        for (const int64_t one : *dim) {
            all.push_back(at::maybe_wrap_dim(one, self.dim()));
        }
        return all;
    }
    for (int64_t i = 0; i < self.dim(); ++i) {
        all.push_back(i);
    }
    return all;
}

at::DimVector reduced_size(const at::Tensor& self, const at::DimVector& dims, bool keepdim) {
    at::DimVector size;
    for (int64_t i = 0; i < self.dim(); ++i) {
        const bool is_reduced = std::find(dims.begin(), dims.end(), i) != dims.end();
        if (!is_reduced) {
            size.push_back(self.size(i));
        } else if (keepdim) {
            size.push_back(1);
        }
    }
    return size;
}

at::ScalarType summed(const at::Tensor& self, std::optional<at::ScalarType> type) {
    return type.value_or(accumulated(self.scalar_type()));
}

// The smallest or largest element of a whole tensor.
template <typename Function>
void write_extreme(at::Tensor& out, const at::Tensor& self, const char* name, Function function) {
    if (self.numel() == 0) {
        fall_back("PyTorch rejects this");
    }
    Call call(self);
    call(name, function, Output(out), Input(call, self, kNumber | kBool));
}

template <typename Function>
at::Tensor extreme(const at::Tensor& self, const char* name, Function function) {
    at::Tensor out = at::empty({}, self.options());
    write_extreme(out, self, name, function);
    return out;
}

template <typename Function>
at::Tensor& extreme_out(const at::Tensor& self, at::Tensor& out, const char* name, Function function) {
    TORCH_CHECK(!out.defined() || self.scalar_type() == out.scalar_type(), "Expected out tensor to have dtype ",
                self.scalar_type(), ", but got ", out.scalar_type(), " instead");
    make_or_resize(out, {}, self.options());
    write_extreme(out, self, name, function);
    return out;
}

void require_deviation(const at::Tensor& self) {
    if (!is_in(kFloating, self.scalar_type()) || self.numel() == 0) {
        fall_back("a deviation of this dtype, or of nothing");
    }
}

// The standard deviation in the dtype to compute in.
at::Tensor deviation(const char* name, const at::Tensor& self, at::OptionalIntArrayRef dim,
                     const std::optional<at::Scalar>& correction, bool keepdim) {
    require_deviation(self);
    const at::DimVector dims = dimensions(self, dim);
    const at::ScalarType type = wide(self.scalar_type());
    at::Tensor out = at::empty(reduced_size(self, dims, keepdim), self.options().dtype(type));
    const double subtracted = correction.value_or(1).toDouble();
    if (static_cast<double>(self.numel()) <= subtracted * static_cast<double>(out.numel())) {
        TORCH_WARN(
            name,
            "(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input "
            "numel divided by output numel).");
    }
    Call call(self);
    call("diopiStd", diopiStd, Output(out), Input(call, self, type), sizes(at::IntArrayRef(dims)), Number(correction));
    return out;
}

}  // namespace

at::Tensor& max(const at::Tensor& self, at::Tensor& out) { return extreme_out(self, out, "diopiMaxAll", diopiMaxAll); }

at::Tensor& min(const at::Tensor& self, at::Tensor& out) { return extreme_out(self, out, "diopiMinAll", diopiMinAll); }

void amin(at::Tensor& out, const at::Tensor& self, at::IntArrayRef dim, bool keepdim) {
    if (out.numel() == 0 || self.numel() == 0) {
        return;
    }
    if (self.dim() == 0) {
        put(out, self);
        return;
    }
    const at::DimVector reduced = dimensions(self, dim);
    if (reduced.size() == static_cast<size_t>(self.dim())) {
        put(out, extreme(self, "diopiMinAll", diopiMinAll).reshape(out.sizes()));
        return;
    }
    // The dimensions that go come last, as one.
    at::DimVector order;
    at::DimVector size;
    for (int64_t i = 0; i < self.dim(); ++i) {
        if (std::find(reduced.begin(), reduced.end(), i) == reduced.end()) {
            order.push_back(i);
            size.push_back(self.size(i));
        }
    }
    at::Tensor smallest = at::empty(size, self.options());
    at::Tensor indices = at::empty(size, self.options().dtype(at::kLong));
    order.append(reduced.begin(), reduced.end());
    size.push_back(-1);
    const at::Tensor rows = self.permute(order).reshape(size);
    Call call(self);
    call("diopiMin", diopiMin, Output(smallest), Output(indices), Input(call, rows, kNumber | kBool), int64_t{-1});
    put(out, smallest.reshape(out.sizes()));
}

void aminmax(at::Tensor& min, at::Tensor& max, const at::Tensor& self, std::optional<int64_t> dim, bool keepdim) {
    put(min, (dim.has_value() && self.dim() > 0 ? self.amin(*dim, keepdim) : self.min()).reshape(min.sizes()));
    put(max, (dim.has_value() && self.dim() > 0 ? self.amax(*dim, keepdim) : self.max()).reshape(max.sizes()));
}

std::tuple<at::Tensor, at::Tensor> aminmax_all(const at::Tensor& self) { return {self.min(), self.max()}; }

std::tuple<at::Tensor, at::Tensor> aminmax_dim(const at::Tensor& self, int64_t dim, bool keepdim) {
    return {self.amin(dim, keepdim), self.amax(dim, keepdim)};
}

at::Tensor prod(const at::Tensor& self, std::optional<at::ScalarType> dtype) {
    const at::ScalarType type = summed(self, dtype);
    const at::ScalarType computed = accumulated(type);
    at::Tensor out = at::empty({}, self.options().dtype(computed));
    Call call(self);
    call("diopiProd", diopiProd, Output(out), Input(call, self, computed, kNumber | kComplex), nullptr);
    return out.to(type);
}

at::Tensor std_correction(const at::Tensor& self, at::OptionalIntArrayRef dim,
                          const std::optional<at::Scalar>& correction, bool keepdim) {
    return deviation("std", self, dim, correction, keepdim).to(self.scalar_type());
}

at::Tensor var_correction(const at::Tensor& self, at::OptionalIntArrayRef dim,
                          const std::optional<at::Scalar>& correction, bool keepdim) {
    return deviation("var", self, dim, correction, keepdim).square().to(self.scalar_type());
}

std::tuple<at::Tensor, at::Tensor> std_mean_correction(const at::Tensor& self, at::OptionalIntArrayRef dim,
                                                       const std::optional<at::Scalar>& correction, bool keepdim) {
    return {deviation("std_mean", self, dim, correction, keepdim).to(self.scalar_type()),
            self.mean(dimensions(self, dim), keepdim)};
}

std::tuple<at::Tensor, at::Tensor> var_mean_correction(const at::Tensor& self, at::OptionalIntArrayRef dim,
                                                       const std::optional<at::Scalar>& correction, bool keepdim) {
    return {deviation("var_mean", self, dim, correction, keepdim).square().to(self.scalar_type()),
            self.mean(dimensions(self, dim), keepdim)};
}

at::Tensor count_nonzero_dim_int_list(const at::Tensor& self, at::IntArrayRef dim) {
    return self.ne(0).sum(dimensions(self, dim));
}

at::Tensor nansum(const at::Tensor& self, at::OptionalIntArrayRef dim, bool keepdim,
                  std::optional<at::ScalarType> dtype) {
    if (self.is_complex()) {
        fall_back("PyTorch rejects this");
    }
    const at::Tensor numbers = self.is_floating_point() ? self.masked_fill(self.isnan(), 0) : self;
    return numbers.sum(dim, keepdim, summed(self, dtype));
}

void norm_scalar_opt_dim_dtype(at::Tensor& out, const at::Tensor& self, const std::optional<at::Scalar>& p,
                               at::IntArrayRef dim, bool keepdim, at::ScalarType dtype) {
    put(out, at::linalg_vector_norm(self, p.value_or(2), dim, keepdim, dtype));
}

at::Tensor trace(const at::Tensor& self) {
    TORCH_CHECK(self.dim() == 2, "trace: expected a matrix, but got tensor with dim ", self.dim());
    return self.diagonal().sum();
}

bool equal(const at::Tensor& self, const at::Tensor& other) {
    if (self.scalar_type() != other.scalar_type() || self.device() != other.device()) {
        fall_back("PyTorch rejects this");
    }
    if (self.sizes() != other.sizes()) {
        return false;
    }
    bool result = false;
    Call call(self);
    call("diopiEqual", diopiEqual, &result, Input(call, self), Input(call, other));
    return result;
}

}  // namespace diopigen::backend::kernels
