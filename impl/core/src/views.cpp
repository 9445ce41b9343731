// Shapes, and views over the memory of other tensors: nothing here touches an element.
#include <algorithm>

#include "diopi_core/dense.h"
#include "diopi_core/raw_elements.h"

namespace diopigen::core {

View::View(const Tensor& base, std::vector<int64_t> shape, std::vector<int64_t> strides, int64_t offset)
    : shape_(std::move(shape)), strides_(std::move(strides)), tensor_(base) {
    require(strides_.size() == shape_.size(), "this library has a view with too few strides or too many");
    tensor_.data = base.data == nullptr ? nullptr : static_cast<char*>(base.data) + offset * size_of(base.dtype);
    tensor_.shape = shape_.data();
    tensor_.strides = strides_.data();
    tensor_.rank = static_cast<int64_t>(shape_.size());
    tensor_.numel = 1;
    for (const int64_t size : shape_) {
        tensor_.numel *= size;
    }
}

namespace {

View contiguous_view(const Tensor& like, Dtype dtype, const std::vector<int64_t>& shape, Buffer& memory) {
    std::vector<int64_t> strides(shape.size());
    int64_t numel = 1;
    for (size_t i = shape.size(); i-- > 0;) {
        strides[i] = numel;
        numel *= shape[i];
    }
    memory.allocate(std::max<int64_t>(numel, 1) * size_of(dtype));
    Tensor base = like;
    base.dtype = dtype;
    base.data = memory.data();
    return View(base, shape, std::move(strides));
}

}  // namespace

Temporary::Temporary(const std::vector<int64_t>& shape, Dtype dtype, const Tensor& like)
    : view_(contiguous_view(like, dtype, shape, memory_)) {}

View permuted(const Tensor& tensor, const std::vector<int64_t>& dims) {
    std::vector<int64_t> shape;
    std::vector<int64_t> strides;
    for (const int64_t dim : dims) {  // a 0-d tensor may be there for [1]
        shape.push_back(dim < tensor.rank ? tensor.shape[dim] : 1);
        strides.push_back(dim < tensor.rank ? tensor.strides[dim] : 0);
    }
    return View(tensor, std::move(shape), std::move(strides));
}

View expanded(const Tensor& tensor, const std::vector<int64_t>& shape) {
    std::vector<int64_t> strides(shape.size(), 0);
    const auto rank = static_cast<int64_t>(shape.size());
    for (int64_t i = 1; i <= std::min(tensor.rank, rank); ++i) {  // a single element may have one dimension more
        strides[rank - i] = tensor.shape[tensor.rank - i] == 1 ? 0 : tensor.strides[tensor.rank - i];
    }
    return View(tensor, shape, std::move(strides));
}

std::vector<int64_t> shape_of(const Tensor& tensor) { return {tensor.shape, tensor.shape + tensor.rank}; }

std::vector<int64_t> broadcast_shape(const Tensor& left, const Tensor& right) {
    std::vector<int64_t> shape(static_cast<size_t>(std::max(left.rank, right.rank)), 1);
    for (const Tensor* tensor : {&left, &right}) {
        for (int64_t i = 1; i <= tensor->rank; ++i) {
            int64_t& size = shape[shape.size() - i];
            const int64_t own = tensor->shape[tensor->rank - i];
            if (size != 1 && own != 1 && size != own) {
                fail(std::string("parameter '") + right.name + "' has the shape " +
                     shape_text(right.shape, right.rank) + ", which does not broadcast with '" + left.name + "'");
            }
            size = size == 1 ? own : size;
        }
    }
    return shape;
}

// Of a 0-d tensor as of [1].
static std::vector<int64_t> strides_at_least_1d(const Tensor& tensor) {
    return tensor.rank == 0 ? std::vector<int64_t>{0}
                            : std::vector<int64_t>(tensor.strides, tensor.strides + tensor.rank);
}

View narrowed(const Tensor& tensor, int64_t dim, int64_t start, int64_t length, int64_t step) {
    std::vector<int64_t> shape = shape_at_least_1d(tensor);
    std::vector<int64_t> strides = strides_at_least_1d(tensor);
    // The start of an empty part may be behind the end of the memory.
    const int64_t offset = length > 0 ? start * strides[dim] : 0;
    shape[dim] = length;
    strides[dim] = length > 1 ? strides[dim] * step : strides[dim];
    return View(tensor, std::move(shape), std::move(strides), offset);
}

View selected(const Tensor& tensor, int64_t dim, int64_t index) {
    std::vector<int64_t> shape = shape_at_least_1d(tensor);
    std::vector<int64_t> strides = strides_at_least_1d(tensor);
    const int64_t offset = index * strides[dim];
    shape.erase(shape.begin() + dim);
    strides.erase(strides.begin() + dim);
    return View(tensor, std::move(shape), std::move(strides), offset);
}

std::vector<int64_t> shape_at_least_1d(const Tensor& tensor) {
    return tensor.rank == 0 ? std::vector<int64_t>{1} : shape_of(tensor);
}

int64_t product(const std::vector<int64_t>& sizes, size_t begin, size_t end) {
    int64_t result = 1;
    for (size_t i = begin; i < end; ++i) {
        result *= sizes[i];
    }
    return result;
}

DimSplit split_at(const std::vector<int64_t>& shape, int64_t dim) {
    const auto at = static_cast<size_t>(dim);
    return {product(shape, 0, at), shape[at], product(shape, at + 1, shape.size())};
}

}  // namespace diopigen::core
