// Operators of droplet that move elements about.
#include <stdexcept>

#include "droplet/kernel.h"

namespace impl {
namespace droplet {

diopiError_t diopiCastDtype(Context ctx, Out out, In input) {
    const Call call(ctx, "diopiCastDtype", {out}, {input});
    // From a float to whole numbers only the reference knows what becomes of those that do not fit.
    const bool isSafe = isFloat(call.dtype(0)) || call.dtype(0) == diopi_dtype_bool || !isFloat(call.dtype(1));
    return isSafe && call.haveShape({0}, call.shape(1)) ? run(call, [](const Kernel& k) { convert(k, 0, 1); }) : kLeave;
}
diopiError_t diopiCopyInp(Context ctx, In src, Out dest) {
    const Call call(ctx, "diopiCopyInp", {dest}, {src});
    const bool isPlain = call.haveShape({0}, call.shape(1)) && call.haveDtype({0}, call.dtype(1));
    return isPlain ? run(call, [](const Kernel& k) { convert(k, 0, 1); }) : kLeave;
}

// Seen with `dim` in front of all others, the parts follow each other.
diopiError_t diopiCat(Context ctx, Out out, In* tensors, int64_t num_inputs, int64_t dim) {
    Call call(ctx, "diopiCat", {out});
    const int64_t along = call.dim(0, dim);
    if (along < 0 || tensors == nullptr || num_inputs < 1 || call.dtype(0) == diopi_dtype_int64) {
        return kLeave;
    }
    Shape shape = call.shape(0), others(shape.size());
    std::iota(others.begin(), others.end(), 0);
    others.erase(others.begin() + along);
    int64_t left = shape[along];
    bool isPlain = call.moveLast(others, {0});
    for (int64_t i = 0; i < num_inputs; ++i) {
        const int k = call.add(tensors[i], Access::read);
        shape[along] = call.rank(k) == call.rank(0) ? call.shape(k)[along] : -1;
        isPlain =
            isPlain && call.haveShape({k}, shape) && call.haveDtype({k}, call.dtype(0)) && call.moveLast(others, {k});
        left -= shape[along];
    }
    return !isPlain || left != 0 ? kLeave : run(call, [num_inputs](const Kernel& k) {
        Values all;
        for (int64_t i = 1; i <= num_inputs; ++i) {
            const Values part = load(k, i);
            all.insert(all.end(), part.begin(), part.end());
        }
        store(k, 0, all);
    });
}

// `visit(place, element)` for each element of the rows of a table that the indices name.
template <typename Visit>
void lookUp(const Values& indices, int64_t rows, int64_t width, Visit visit) {
    for (size_t i = 0; i < indices.size(); ++i) {
        const auto row = static_cast<int64_t>(indices[i]);
        if (row < 0 || row >= rows) {
            throw std::out_of_range("an index is outside the table");
        }
        for (int64_t j = 0; j < width; ++j) {
            visit(static_cast<int64_t>(i) * width + j, row * width + j);
        }
    }
}
diopiError_t diopiEmbedding(Context ctx, Out out, In weight, In indices, int64_t /*padding_idx*/,
                            bool /*scale_grad_byfreq*/, bool /*sparse*/) {
    const Call call(ctx, "diopiEmbedding", {out}, {weight, indices});
    const bool isTable = call.rank(1) == 2 && isFloat(call.dtype(0)) && call.haveDtype({1}, call.dtype(0));
    Shape shape = call.shape(2);
    shape.push_back(isTable ? call.shape(1)[1] : 0);
    if (!isTable || !call.haveShape({0}, shape) || !call.haveDtype({2}, diopi_dtype_int32)) {
        return kLeave;
    }
    return run(call, [shape, rows = call.shape(1)[0]](const Kernel& k) {
        const Values table = load(k, 1);
        Values found(static_cast<size_t>(product(shape)));
        lookUp(load(k, 2), rows, shape.back(), [&](int64_t place, int64_t at) { found[place] = table[at]; });
        store(k, 0, found);
    });
}

}  // namespace droplet
}  // namespace impl
