// Cat and Stack: each part is copied, with a cast, into its slice of the result.
#include <vector>

#include "diopi_cpu/words.h"
#include "shape_view_copy_cast.h"

using namespace diopi::cpu;

namespace {

// As in torch.cat, a part of shape [0] goes with parts of any rank.
bool is_left_out(const Tensor& part) { return part.rank == 1 && part.numel == 0; }

// The part that the others are like. They differ from it in `dim` only.
const Tensor& model_of(const std::vector<Tensor>& parts, int64_t dim) {
    const Tensor* model = &parts[0];
    for (const Tensor& part : parts) {
        model = is_left_out(*model) ? &part : model;
    }
    for (const Tensor& part : parts) {
        bool is_alike = is_left_out(part) || part.rank == model->rank;
        for (int64_t d = 0; is_alike && !is_left_out(part) && d < part.rank; ++d) {
            is_alike = d == wrap_dim(dim, part.rank) || part.shape[d] == model->shape[d];
        }
        require(is_alike, "'tensors' has members that differ in more than the size of 'dim'");
    }
    return *model;
}

}  // namespace

void diopi::kernels::cat(const CatArgs& args) {
    const int64_t at = wrap_dim(args.dim, model_of(args.tensors, args.dim).rank);
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

void diopi::kernels::stack(const StackArgs& args) {
    for (const Tensor& part : args.tensors) {
        require(is_same_shape(part, args.tensors[0]), "'tensors' has members of different shape");
        require_disjoint(args.out, part);
    }
    const int64_t at = wrap_dim(args.dim, args.tensors[0].rank + 1);
    for (size_t k = 0; k < args.tensors.size(); ++k) {
        const View slice = selected(args.out, at, static_cast<int64_t>(k));
        copy_elements(slice.tensor(), args.tensors[k]);
    }
}
