#include "diopi_core/tensor.h"

#include <cmath>
#include <cstring>

#include "tensor_of.h"
#include "tensor_view.h"

namespace diopigen::core {

namespace {

std::string quoted(const char* name) { return std::string("parameter '") + name + "'"; }

std::string dtypes_text(DtypeSet set) {
    std::string text;
    for (int i = 0; i < kDtypeCount; ++i) {
        if (contains(set, static_cast<Dtype>(i))) {
            text.append(text.empty() ? "" : ", ").append(name_of(static_cast<Dtype>(i)));
        }
    }
    return text;
}

[[noreturn]] void fail_null(const char* name) { fail(quoted(name) + " is null"); }

}  // namespace

Tensor tensor_of(const char* name, const ::diopigen::contract::TensorView& view) {
    Tensor result;
    result.name = name;
    result.handle = const_cast<diopiTensorHandle_t>(view.handle);
    result.data = const_cast<void*>(view.data);
    result.shape = view.shape.data;
    result.strides = view.stride.data;
    result.rank = view.shape.len;
    result.dtype = from_public(view.dtype);
    result.device = view.device;
    result.numel = 1;
    for (int64_t i = 0; i < result.rank; ++i) {
        result.numel *= result.shape[i];
    }
    if (result.rank > kMaxRank) {
        fail(quoted(name) + " has " + std::to_string(result.rank) + " dimensions; at most 64 are supported");
    }
    if (result.dtype == Dtype::kUnsupported) {
        fail(quoted(name) + " has a dtype that the library does not support", diopiDtypeNotSupported);
    }
    if (!view.is_sparse && result.data == nullptr && result.numel > 0) {
        fail(quoted(name) + " has elements but no data");
    }
    return result;
}

Tensor tensor(const char* name, diopiConstTensorHandle_t handle, DtypeSet allowed) {
    if (handle == nullptr) {
        fail_null(name);
    }
    const Tensor result = tensor_of(name, ::diopigen::contract::view_of(handle));
    if (!contains(allowed, result.dtype)) {
        fail(quoted(name) + " has the dtype " + name_of(result.dtype) + ", not one of " + dtypes_text(allowed),
             diopiDtypeNotSupported);
    }
    return result;
}

Tensor new_tensor(diopiContextHandle_t ctx, const char* name, const std::vector<int64_t>& shape, Dtype dtype,
                  const Tensor& like) {
    const diopiSize_t sizes{shape.data(), static_cast<int64_t>(shape.size())};
    diopiTensorHandle_t handle = nullptr;
    const diopiError_t status = diopiRequireTensor(ctx, &handle, &sizes, nullptr, to_public(dtype), like.device);
    if (status != diopiSuccess || handle == nullptr) {
        fail(quoted(name) + ": the host gives no tensor", status == diopiSuccess ? diopiErrorOccurred : status);
    }
    return tensor_of(name, ::diopigen::contract::view_of(handle));
}

bool Number::is_integral() const { return !is_real || (std::isfinite(real) && std::trunc(real) == real); }

std::string shape_text(const int64_t* shape, int64_t rank) {
    std::string text = "[";
    for (int64_t i = 0; i < rank; ++i) {
        text.append(i == 0 ? "" : ", ").append(std::to_string(shape[i]));
    }
    return text + "]";
}

void require_dtype(const Tensor& tensor, Dtype dtype) {
    if (!tensor.is_null() && tensor.dtype != dtype) {
        fail(quoted(tensor.name) + " has the dtype " + name_of(tensor.dtype) + " instead of " + name_of(dtype),
             diopiDtypeNotSupported);
    }
}

void require_same_dtype(const Tensor& tensor, const Tensor& like) {
    if (!tensor.is_null() && !like.is_null() && tensor.dtype != like.dtype) {
        fail(quoted(tensor.name) + " has the dtype " + name_of(tensor.dtype) + " instead of " + name_of(like.dtype) +
                 ", that of '" + like.name + "'",
             diopiDtypeNotSupported);
    }
}

bool is_same_shape(const Tensor& tensor, const Tensor& like) {
    if (tensor.rank != like.rank) {
        return false;
    }
    for (int64_t i = 0; i < tensor.rank; ++i) {
        if (tensor.shape[i] != like.shape[i]) {
            return false;
        }
    }
    return true;
}

void require_same_shape(const Tensor& tensor, const Tensor& like) {
    if (!tensor.is_null() && !like.is_null() && !is_same_shape(tensor, like)) {
        fail(quoted(tensor.name) + " has the shape " + shape_text(tensor.shape, tensor.rank) + ", but " +
             quoted(like.name) + " has " + shape_text(like.shape, like.rank));
    }
}

void require_shape(const Tensor& tensor, diopiSize_t shape) {
    if (shape.len == 0 && tensor.rank == 1 && tensor.numel == 1) {
        return;  // hosts give what is 0-d one dimension of size 1 as well
    }
    bool is_same = tensor.rank == shape.len;
    for (int64_t i = 0; is_same && i < shape.len; ++i) {
        is_same = tensor.shape[i] == shape.data[i];
    }
    if (!tensor.is_null() && !is_same) {
        fail(quoted(tensor.name) + " has the shape " + shape_text(tensor.shape, tensor.rank) + " instead of " +
             shape_text(shape.data, shape.len));
    }
}

void require_shape(const Tensor& tensor, std::initializer_list<int64_t> shape) {
    require_shape(tensor, diopiSize_t{shape.begin(), static_cast<int64_t>(shape.size())});
}

void require_shape(const Tensor& tensor, const std::vector<int64_t>& shape) {
    require_shape(tensor, diopiSize_t{shape.data(), static_cast<int64_t>(shape.size())});
}

void require_rank(const Tensor& tensor, int64_t least, int64_t most) {
    if (!tensor.is_null() && (tensor.rank < least || tensor.rank > most)) {
        fail(quoted(tensor.name) + " has " + std::to_string(tensor.rank) + " dimensions; needed are " +
             std::to_string(least) + (most == least ? "" : " to " + std::to_string(most)));
    }
}

void require_broadcast(const Tensor& result, std::initializer_list<const Tensor*> operands) {
    int64_t shape[kMaxRank];
    int64_t rank = 0;
    for (const Tensor* operand : operands) {
        rank = operand->is_null() || operand->rank < rank ? rank : operand->rank;
    }
    for (int64_t i = 0; i < rank; ++i) {
        shape[i] = 1;
    }
    for (const Tensor* operand : operands) {
        if (operand->is_null()) {
            continue;
        }
        for (int64_t i = 1; i <= operand->rank; ++i) {
            const int64_t size = operand->shape[operand->rank - i];
            int64_t& common = shape[rank - i];
            if (size != 1 && common != 1 && size != common) {
                fail(quoted(operand->name) + " has the shape " + shape_text(operand->shape, operand->rank) +
                     ", which does not broadcast with the other operands");
            }
            common = size == 1 ? common : size;
        }
    }
    require_shape(result, diopiSize_t{shape, rank});
}

void require_one_device(std::initializer_list<const Tensor*> tensors) {
    const Tensor* first = nullptr;
    for (const Tensor* tensor : tensors) {
        if (tensor->is_null() || (tensor->rank == 0 && tensor->device == diopi_host)) {
            continue;
        }
        if (first == nullptr) {
            first = tensor;
        } else if (tensor->device != first->device) {
            const char* where = tensor->device == diopi_host ? "the host" : "the device";
            fail(quoted(tensor->name) + " is on " + where + ", but '" + first->name + "' is not");
        }
    }
}

diopiSize_t require_sizes(const char* name, diopiSize_t value) {
    if (value.len < 0 || (value.len > 0 && value.data == nullptr)) {
        fail(quoted(name) + " is not a list");
    }
    return value;
}

int64_t dimension(const char* name, int64_t dim, int64_t rank) {
    const int64_t count = rank == 0 ? 1 : rank;
    if (dim < -count || dim >= count) {
        fail(quoted(name) + " is " + std::to_string(dim) + ", but must be in [" + std::to_string(-count) + ", " +
             std::to_string(count - 1) + "]");
    }
    return dim < 0 ? dim + count : dim;
}

bool is_contiguous(const Tensor& tensor) {
    int64_t expected = 1;
    for (int64_t i = tensor.rank; i-- > 0;) {
        if (tensor.shape[i] != 1 && tensor.strides[i] != expected) {
            return tensor.numel == 0;
        }
        expected *= tensor.shape[i];
    }
    return true;
}

}  // namespace diopigen::core
