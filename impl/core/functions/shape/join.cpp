// Cat and Stack: each part is copied, with a cast, into its slice of the result.
#include <algorithm>
#include <vector>

#include "diopi_core/raw_elements.h"
#include "shape.h"

using namespace diopigen::core;

void diopigen::entry::cat(const CatArgs& args) {
    const int64_t at = wrap_dim(args.dim, std::max<int64_t>(args.out.rank, 1));
    for (const Tensor& part : args.tensors) {
        require_disjoint(args.out, part);
    }
    int64_t start = 0;
    for (const Tensor& part : args.tensors) {
        if (part.numel > 0) {
            const View slice = narrowed(args.out, at, start, part.shape[at]);
            copy_elements(slice.tensor(), part);
            start += part.shape[at];
        }
    }
}

void diopigen::entry::stack(const StackArgs& args) {
    for (const Tensor& part : args.tensors) {
        require_disjoint(args.out, part);
    }
    const int64_t at = wrap_dim(args.dim, args.tensors[0].rank + 1);
    for (size_t k = 0; k < args.tensors.size(); ++k) {
        const View slice = selected(args.out, at, static_cast<int64_t>(k));
        copy_elements(slice.tensor(), args.tensors[k]);
    }
}
