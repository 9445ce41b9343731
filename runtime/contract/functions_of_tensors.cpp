#include <algorithm>

#include "dtypes.h"
#include "functions.h"
#include "shapes.h"

namespace diopigen::contract::functions {

namespace {

int64_t product_of(const diopiSize_t& shape) {
    int64_t product = 1;
    for (int64_t i = 0; i < shape.len; ++i) {
        product *= shape.data[i];
    }
    return product;
}

template <typename Of>
Sizes of_each(const TensorArray& tensors, const Of& of) {
    Sizes found;
    for (const TensorView& tensor : tensors) {
        found.push_back(of(tensor));
    }
    return found;
}

template <typename IsAlike>
bool are_alike(const TensorArray& tensors, const IsAlike& is_alike) {
    return std::all_of(tensors.begin(), tensors.end(), is_alike);
}

bool is_mask(const TensorView& index) {
    return !index.is_null() && (index.dtype == diopi_dtype_bool || index.dtype == diopi_dtype_uint8);
}

}  // namespace

std::optional<int64_t> rank(const TensorView& tensor) { return tensor.shape.len; }
std::optional<Sizes> sizes(const TensorView& tensor) { return tensor.sizes(); }
std::optional<int64_t> numel(const TensorView& tensor) { return product_of(tensor.shape); }

std::optional<int64_t> size(const TensorView& tensor, int64_t dim) {
    int64_t axis = 0;
    if (!axis_of(dim, tensor.shape.len, axis)) {
        return std::nullopt;
    }
    return tensor.shape.len == 0 ? 1 : tensor.shape.data[axis];
}

std::optional<Sizes> ranks(const TensorArray& tensors) {
    return of_each(tensors, [](const TensorView& one) { return one.shape.len; });
}

std::optional<Sizes> numels(const TensorArray& tensors) {
    return of_each(tensors, [](const TensorView& one) { return product_of(one.shape); });
}

std::optional<Sizes> categories(const TensorArray& tensors) {
    return of_each(tensors, [](const TensorView& one) { return contract::category(one.dtype); });
}

std::optional<Sizes> sizes_in(const TensorArray& tensors, int64_t dim) {
    Sizes found;
    for (const TensorView& tensor : tensors) {
        const std::optional<int64_t> one = size(tensor, dim);
        if (!one) {
            return std::nullopt;
        }
        found.push_back(*one);
    }
    return found;
}

std::optional<bool> same_dtype(const TensorArray& tensors) {
    return are_alike(tensors, [&](const TensorView& one) { return one.dtype == tensors.first->dtype; });
}

std::optional<bool> same_shape(const TensorArray& tensors) {
    return are_alike(tensors, [&](const TensorView& one) { return one.sizes() == tensors.first->sizes(); });
}

std::optional<bool> have_shape(const TensorArray& tensors, const Sizes& shape) {
    return are_alike(tensors, [&](const TensorView& one) { return one.sizes() == shape; });
}

std::optional<bool> same_but(const TensorArray& tensors, const Sizes& shape, int64_t dim) {
    int64_t axis = 0;
    if (!axis_of(dim, static_cast<int64_t>(shape.size()), axis)) {
        return std::nullopt;
    }
    return are_alike(tensors, [&](const TensorView& one) {
        Sizes sizes = one.sizes();
        if (sizes.size() == shape.size() && !shape.empty()) {
            sizes[static_cast<size_t>(axis)] = shape[static_cast<size_t>(axis)];
        }
        return sizes == shape;
    });
}

// Index tensors: a mask stands for as many dimensions as it has, anything else for one.
std::optional<int64_t> indexed_dims(const std::vector<TensorView>& indices) {
    int64_t dims = 0;
    for (const TensorView& index : indices) {
        dims += is_mask(index) ? index.shape.len : 1;
    }
    return dims;
}

std::optional<bool> masks_fit(const Sizes& shape, const std::vector<TensorView>& indices) {
    if (*indexed_dims(indices) > static_cast<int64_t>(shape.size())) {
        return std::nullopt;
    }
    bool fits = true;
    auto next = shape.begin();
    for (const TensorView& index : indices) {
        const int64_t covers = is_mask(index) ? index.shape.len : 1;
        fits = fits && (!is_mask(index) || std::equal(index.shape.data, index.shape.data + covers, next));
        next += covers;
    }
    return fits;
}

}  // namespace diopigen::contract::functions
