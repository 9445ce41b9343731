#include "diopi_cpu/words.h"

namespace diopi::cpu {

void copy_unless_same(const Tensor& to, const Tensor& from) {
    bool is_same = to.data == from.data && to.dtype == from.dtype && is_same_shape(to, from);
    for (int64_t i = 0; is_same && i < to.rank; ++i) {
        is_same = to.shape[i] == 1 || to.strides[i] == from.strides[i];
    }
    if (!is_same) {
        copy_elements(to, from);
    }
}

void fill(const Tensor& to, const Number& value) {
    dispatch<kAny>(to.dtype, [&](auto sample) {
        using T = decltype(sample);
        T element = value.as<T>();
        Tensor one;
        one.data = &element;
        one.dtype = to.dtype;
        one.numel = 1;
        copy_elements(to, one);
    });
}

View narrowed(const Tensor& tensor, int64_t dim, int64_t start, int64_t length, int64_t step) {
    std::vector<int64_t> shape = shape_of(tensor);
    std::vector<int64_t> strides(tensor.strides, tensor.strides + tensor.rank);
    // The start of an empty part may lie behind the end of the memory.
    const int64_t offset = length > 0 ? start * strides[dim] : 0;
    shape[dim] = length;
    strides[dim] = length > 1 ? strides[dim] * step : strides[dim];
    return View(tensor, std::move(shape), std::move(strides), offset);
}

View selected(const Tensor& tensor, int64_t dim, int64_t index) {
    std::vector<int64_t> shape = shape_of(tensor);
    std::vector<int64_t> strides(tensor.strides, tensor.strides + tensor.rank);
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

Around around(const std::vector<int64_t>& shape, int64_t dim) {
    const auto at = static_cast<size_t>(dim);
    return {product(shape, 0, at), shape[at], product(shape, at + 1, shape.size())};
}

}  // namespace diopi::cpu
