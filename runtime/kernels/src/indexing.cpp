#include <diopigen_kernels/indexing.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace diopigen::kernels {

namespace {

// The strides of a tensor in row-major order.
Shape row_major(const Shape& shape) {
    Shape strides(shape.size(), 1);
    for (std::size_t d = shape.size(); d-- > 1;) {
        strides[d - 1] = strides[d] * shape[d];
    }
    return strides;
}

}  // namespace

Indexing::Dimensions Indexing::slices() const {
    Dimensions found;
    for (std::size_t d = 0; d < dims.back(); ++d) {
        if (std::find(dims.begin(), dims.end(), d) == dims.end()) {
            found.push_back(d);
        }
    }
    return found;
}

Shape Indexing::result() const {
    Shape sizes;
    for (const std::size_t d : slices()) {
        sizes.push_back(shape[d]);
    }
    sizes.insert(isAdjacent() ? sizes.end() : sizes.begin(), positions.begin(), positions.end());
    sizes.insert(sizes.end(), shape.begin() + dims.back() + 1, shape.end());
    return sizes;
}

int64_t Indexing::block() const { return product(Shape(shape.begin() + dims.back() + 1, shape.end())); }

std::vector<int64_t> Indexing::offsets(const std::vector<const int64_t*>& indices) const {
    const Shape strides = row_major(shape);
    std::vector<int64_t> named(static_cast<std::size_t>(product(positions)), 0);
    for (std::size_t i = 0; i < dims.size(); ++i) {
        const int64_t size = shape[dims[i]], stride = strides[dims[i]];
        for (std::size_t b = 0; b < named.size(); ++b) {
            const int64_t index = indices[i][b];
            if (index < -size || index >= size) {
                throw std::out_of_range("an index is outside its dimension");
            }
            named[b] += (index < 0 ? index + size : index) * stride;
        }
    }
    const Dimensions full = slices();
    if (full.empty()) {
        return named;
    }
    std::vector<int64_t> sliced = {0};  // of every coordinate of the slices, in row-major order
    for (const std::size_t d : full) {
        std::vector<int64_t> finer;
        finer.reserve(sliced.size() * static_cast<std::size_t>(shape[d]));
        for (const int64_t offset : sliced) {
            for (int64_t i = 0; i < shape[d]; ++i) {
                finer.push_back(offset + i * strides[d]);
            }
        }
        sliced = std::move(finer);
    }
    const std::vector<int64_t>& outer = isAdjacent() ? sliced : named;
    const std::vector<int64_t>& inner = isAdjacent() ? named : sliced;
    std::vector<int64_t> found;
    found.reserve(outer.size() * inner.size());
    for (const int64_t first : outer) {
        for (const int64_t second : inner) {
            found.push_back(first + second);
        }
    }
    return found;
}

}  // namespace diopigen::kernels
