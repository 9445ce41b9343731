// RotaryEmbedding and RotaryEmbeddingV2 (RoFormer): pairs of elements of each head are rotated by the angle of their
// position.
#include "attention.h"
#include "attention_kernels.h"
#include "operands.h"

using namespace diopigen::core;
using namespace diopigen::core::attention;

namespace {

// [..., positions, heads, head_dim]: what has fewer dimensions is [positions, head_dim] or [head_dim].
struct Heads {
    explicit Heads(const Tensor& x) : shape(shape_of(x)), missing(x.rank < 3 ? static_cast<size_t>(3 - x.rank) : 0) {
        // One head between positions and elements, and one position before it.
        shape.insert(shape.end() - 1, missing > 0 ? 1 : 0, 1);
        shape.insert(shape.begin(), missing > 1 ? 1 : 0, 1);
    }
    View of(const Tensor& tensor) const {
        std::vector<int64_t> strides(tensor.strides, tensor.strides + tensor.rank);
        strides.insert(strides.end() - 1, missing > 0 ? 1 : 0, 0);
        strides.insert(strides.begin(), missing > 1 ? 1 : 0, 0);
        return View(tensor, shape, std::move(strides));
    }

    std::vector<int64_t> shape;
    size_t missing;
};

}  // namespace

void diopigen::entry::rotary_embedding(const RotaryEmbeddingArgs& args) {
    const Tensor& x = args.x;
    require_rank(x, 1);
    const Heads view(x);
    const int64_t positions = view.shape[view.shape.size() - 3];
    const int64_t heads = view.shape[view.shape.size() - 2];
    const int64_t half = view.shape.back() / 2;
    // Where x has one head or one position without a dimension for it, so may the angles.
    const std::vector<int64_t> own = x.rank == 1 ? std::vector<int64_t>{half} : std::vector{positions, half};
    const std::vector<int64_t> of_heads{positions, heads, half};
    const std::vector<int64_t> angles = shape_of(args.cos);
    if (angles != of_heads && !(x.rank < 3 && angles == own)) {
        require_shape(args.cos, {positions, 1, half});
    }
    require_shape(args.sin, angles);
    require_disjoint(args.out, args.cos);
    require_disjoint(args.out, args.sin);
    rotate_pairs(view.of(args.out).tensor(), view.of(x).tensor(), args.cos, args.sin, args.conj, args.interleaved);
}

void diopigen::entry::rotary_embedding_v2(const RotaryEmbeddingV2Args& args) {
    require_separate({&args.query, &args.key}, {&args.cos, &args.sin});
    for (const Tensor* target : {&args.query, &args.key}) {
        rotate_halves(*target, args.cos, args.sin, args.dim);
    }
}
