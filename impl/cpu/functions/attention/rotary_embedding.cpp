// RotaryEmbedding and RotaryEmbeddingV2 (RoFormer): pairs of elements of each head are rotated by the angle of their
// position.
#include <diopi/functions.h>
#include <diopi/functions_ext.h>

#include "kernels.h"
#include "operands.h"

using namespace diopi::cpu;
using namespace diopi::cpu::attention;

namespace {

int64_t per_token(const Tensor& tensor) { return tensor.shape[0] == 0 ? 0 : tensor.numel / tensor.shape[0]; }

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

DIOPI_API diopiError_t diopiRotaryEmbedding(diopiContextHandle_t ctx, diopiTensorHandle_t out,
                                            diopiConstTensorHandle_t x, diopiConstTensorHandle_t cos,
                                            diopiConstTensorHandle_t sin, const bool conj, const bool interleaved) {
    return guarded("diopiRotaryEmbedding", ctx, [&] {
        const Tensor out_tensor = tensor("out", out, kFloating);
        const Tensor x_tensor = tensor("x", x, kFloating);
        const Tensor cos_tensor = tensor("cos", cos, kFloating);
        const Tensor sin_tensor = tensor("sin", sin, kFloating);
        require_rank(x_tensor, 1);
        const Heads view(x_tensor);
        const int64_t positions = view.shape[view.shape.size() - 3];
        const int64_t size = view.shape.back();
        const int64_t half = size / 2;
        require(size % 2 == 0, "C1: the last dimension of x is even");
        require_same_dtype(out_tensor, x_tensor);
        require_same_shape(out_tensor, x_tensor);
        require_no_overlap(out_tensor);
        require_no_overlap(out_tensor, x_tensor);
        for (const Tensor* angle : {&cos_tensor, &sin_tensor}) {
            require_same_dtype(*angle, x_tensor);
            // Where x has one head or one position without a dimension for it, so may the angles.
            const std::vector<int64_t> own =
                x_tensor.rank == 1 ? std::vector<int64_t>{half} : std::vector{positions, half};
            require_shape(
                *angle, x_tensor.rank < 3 && shape_of(*angle) == own ? own : std::vector{positions, int64_t{1}, half});
            require_disjoint(out_tensor, *angle);
            require_one_device({&out_tensor, &x_tensor, angle});
        }
        rotate_pairs(view.of(out_tensor).tensor(), view.of(x_tensor).tensor(), cos_tensor, sin_tensor, conj,
                     interleaved);
    });
}

DIOPI_API diopiError_t diopiRotaryEmbeddingV2(diopiContextHandle_t ctx, diopiTensorHandle_t query,
                                              diopiTensorHandle_t key, diopiConstTensorHandle_t cos,
                                              diopiConstTensorHandle_t sin, int64_t dim) {
    return guarded("diopiRotaryEmbeddingV2", ctx, [&] {
        const Tensor query_tensor = tensor("query", query, kFloating);
        const Tensor key_tensor = tensor("key", key, kFloating);
        const Tensor cos_tensor = tensor("cos", cos, kFloating);
        const Tensor sin_tensor = tensor("sin", sin, kFloating);
        require(dim > 0 && dim % 2 == 0, "C1: dim is even and above 0");
        for (const Tensor* operand : {&query_tensor, &key_tensor, &cos_tensor, &sin_tensor}) {
            require_same_dtype(*operand, query_tensor);
            require_rank(*operand, 1);
            require(operand->shape[0] == query_tensor.shape[0], "query, key, cos and sin differ in their tokens");
        }
        require(per_token(query_tensor) % dim == 0 && per_token(key_tensor) % dim == 0,
                "C2: the elements per token of query and key are multiples of dim");
        const int64_t tokens = query_tensor.shape[0];
        require(cos_tensor.numel == tokens * dim && sin_tensor.numel == tokens * dim,
                "C3: cos and sin hold dim elements per token");
        require_same_shape(sin_tensor, cos_tensor);
        require_separate({&query_tensor, &key_tensor}, {&cos_tensor, &sin_tensor});
        for (const Tensor* target : {&query_tensor, &key_tensor}) {
            rotate_halves(*target, cos_tensor, sin_tensor, dim);
        }
    });
}
