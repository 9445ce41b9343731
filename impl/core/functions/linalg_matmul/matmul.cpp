// Products of matrices: Mm, Bmm, Baddbmm, Addmm and Linear.
#include <algorithm>
#include <vector>

#include "batches.h"
#include "diopi_core/arguments.h"
#include "linalg_matmul.h"

using namespace diopigen::core;

namespace {

// out = beta * input + alpha * batch1 batch2. `input` broadcasts to `out` or is `out`.
void add_batch(const Tensor& out, const Tensor& input, const Tensor& batch1, const Tensor& batch2, double beta,
               double alpha) {
    require_apart(out, {&batch1, &batch2});
    multiply_tensors(out, batch1, batch2, Number::of(alpha), Number::of(beta), input);
}

}  // namespace

void diopigen::entry::mm(const MmArgs& args) {
    require_apart(args.out, {&args.input, &args.mat2});
    const View result = as_batch(args.out);
    const View left = as_batch(args.input);
    const View right = as_batch(args.mat2);
    multiply_tensors(result.tensor(), left.tensor(), right.tensor());
}

void diopigen::entry::bmm(const BmmArgs& args) {
    require_apart(args.out, {&args.input, &args.mat2});
    multiply_tensors(args.out, args.input, args.mat2);
}

void diopigen::entry::baddbmm(const BaddbmmArgs& args) {
    add_batch(args.out, args.input, args.batch1, args.batch2, args.beta, args.alpha);
}

void diopigen::entry::baddbmm_inp(const BaddbmmInpArgs& args) {
    add_batch(args.input, args.input, args.batch1, args.batch2, args.beta, args.alpha);
}

void diopigen::entry::addmm(const AddmmArgs& args) {
    require_apart(args.out, {&args.mat1, &args.mat2});
    const View result = as_batch(args.out);
    const View left = as_batch(args.mat1);
    const View right = as_batch(args.mat2);
    multiply_tensors(result.tensor(), left.tensor(), right.tensor(), args.alpha, args.beta, args.input);
}

// The contract leaves the shapes of weight and bias to the library.
void diopigen::entry::linear(const LinearArgs& args) {
    // Contracts take 0-d for [1], and the other way round.
    const View one_input(args.input, {1}, {1});
    const View one_weight(args.weight, {1}, {1});
    const Tensor& input = args.input.rank == 0 ? one_input.tensor() : args.input;
    const Tensor& weight = args.weight.rank == 0 ? one_weight.tensor() : args.weight;
    require_rank(weight, 1, 2);
    const int64_t inner = input.shape[input.rank - 1];
    std::vector<int64_t> shape = shape_of(input);
    shape.pop_back();
    // A vector is one output feature, for which the result has no dimension.
    const bool is_vector = weight.rank == 1;
    const int64_t columns = is_vector ? 1 : weight.shape[0];
    if (is_vector) {
        require_shape(weight, {inner});
    } else {
        require_shape(weight, {columns, inner});
        shape.push_back(columns);
    }
    std::vector<int64_t> strides(args.out.strides, args.out.strides + args.out.rank);
    if (args.out.numel == 1 && std::all_of(shape.begin(), shape.end(), [](int64_t size) { return size == 1; })) {
        strides.assign(shape.size(), 1);
    } else {
        require_shape(args.out, shape);
    }
    if (args.bias.rank <= 1 && args.bias.numel != 1) {
        require_shape(args.bias, {columns});
    }
    std::optional<AsMatrix> summands;  // one for each element of the result
    if (args.bias.rank > 1) {
        require_shape(args.bias, shape);
        summands.emplace(args.bias);
    }
    require_apart(args.out, {&args.input, &args.weight, &args.bias});
    if (is_vector) {
        shape.push_back(1);
        strides.resize(shape.size(), 0);
    }
    const View results(args.out, shape, strides);
    const AsMatrix result(results.tensor(), false);
    const AsMatrix left(input);
    const View transposed(weight, {1, inner, columns},
                          {0, weight.strides[is_vector ? 0 : 1], is_vector ? 0 : weight.strides[0]});
    multiply_tensors(result.tensor(), left.tensor(), transposed.tensor(), Number::of(1), Number::of(1),
                     summands && !is_vector ? summands->tensor() : args.bias);
    result.store();
}
