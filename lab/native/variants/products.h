// Matrix products whose terms are added up in an order of their own.
#pragma once

#include <string>

#include "work.h"

namespace diopigen::variants {

// The sums over k of a[i, k] * b[k, j], each by `dot` of two vectors; [rows, columns].
template <typename T, typename Dot>
std::vector<T> product(const T* a, const T* b, int64_t rows, int64_t inner, int64_t columns, bool transposed,
                       const Dot& dot) {
    std::vector<T> out, left(static_cast<size_t>(inner)), right(static_cast<size_t>(inner));
    for (int64_t i = 0; i < rows; ++i) {
        for (int64_t k = 0; k < inner; ++k) left[static_cast<size_t>(k)] = a[i * inner + k];
        for (int64_t j = 0; j < columns; ++j) {
            for (int64_t k = 0; k < inner; ++k) {
                right[static_cast<size_t>(k)] = transposed ? b[j * inner + k] : b[k * columns + j];
            }
            out.push_back(dot(left, right));
        }
    }
    return out;
}

// Mm, Bmm, Linear, Addmm and Baddbmm of floats in the accumulate type.
template <typename Dot>
bool multiply(Work& work, const Dot& dot) {
    const std::string name = work.call().function();
    const bool added = name == "Addmm" || name == "Baddbmm", linear = name == "Linear";
    const char* first = name == "Addmm" ? "mat1" : name == "Baddbmm" ? "batch1" : "input";
    const char* second = name == "Baddbmm" ? "batch2" : linear ? "weight" : "mat2";
    return inAccumulateType(work.dtype(first), [&](auto zero) {
        using T = decltype(zero);
        const Array<T> a = work.read<T>(first), b = work.read<T>(second), c = work.read<T>(linear ? "bias" : "input");
        const bool batched = name == "Bmm" || name == "Baddbmm";
        const int64_t batches = batched ? a.size(0) : 1, inner = a.size(-1);
        const int64_t columns = linear ? (b.rank() > 1 ? b.size(0) : 1) : b.size(-1);
        const int64_t rows = inner > 0 && batches > 0 ? a.count() / inner / batches : 0;
        if (rows * columns == 0) return false;
        std::vector<T> out;
        for (int64_t batch = 0; batch < batches; ++batch) {
            const T* left = a.values.data() + batch * rows * inner;
            const T* right = b.values.data() + batch * inner * columns;
            const std::vector<T> one = product(left, right, rows, inner, columns, linear, dot);
            out.insert(out.end(), one.begin(), one.end());
        }
        const T alpha = added ? static_cast<T>(work.number("alpha", 1)) : 1;
        const T beta = added ? static_cast<T>(work.number("beta", 1)) : 1;
        const Dims shape = batched ? Dims{batches, rows, columns} : Dims{rows, columns};
        for (size_t i = 0; i < out.size(); ++i) {
            out[i] *= alpha;
            if ((!added && !linear) || c.count() == 0 || beta == 0) continue;
            // The addend is broadcast to the product.
            int64_t index = 0, stride = 1, left = static_cast<int64_t>(i);
            for (int64_t dim = 0; dim < static_cast<int64_t>(shape.size()); ++dim) {
                const int64_t size = shape[shape.size() - 1 - static_cast<size_t>(dim)], own = c.size(-1 - dim);
                if (own > 1) index += left % size * stride;
                stride *= own;
                left /= size;
            }
            out[i] += beta * c[index];
        }
        return work.write("out", out);
    });
}

}  // namespace diopigen::variants
