#include <diopigen/elementwise/functions.h>
#include <diopigen_kernels/operators.h>
#include <diopigen_kernels/products.h>

#include <algorithm>

#include "launched.h"

namespace diopigen::kernels::operators {

Status mm(const Launch& launch, Context ctx, Out out, In input, In mat2) {
    const Call call(ctx, "diopiMm", {out}, {input, mat2, nullptr}, {3});
    return call.haveRank({0}, 2) ? multiplyTensors(call, false, 1, 1, launch) : call.rejected();
}

Status bmm(const Launch& launch, Context ctx, Out out, In input, In mat2) {
    const Call call(ctx, "diopiBmm", {out}, {input, mat2, nullptr}, {3});
    return call.haveRank({0}, 3) ? multiplyTensors(call, true, 1, 1, launch) : call.rejected();
}

Status addmm(const Launch& launch, Context ctx, Out out, In input, In mat1, In mat2, const diopiScalar_t* beta,
             const diopiScalar_t* alpha) {
    const Call call(ctx, "diopiAddmm", {out}, {mat1, mat2, input});
    const elementwise::Number a(alpha), b(beta);
    if (!call.haveRank({0}, 2) || !a.isNumber() || !b.isNumber()) {
        return call.rejected(call.rank(0) == 2 ? "a factor is no number" : nullptr);
    }
    return multiplyTensors(call, false, a.value(), b.value(), launch);
}

Status linear(const Launch& launch, Context ctx, Out out, In input, In weight, In bias) {
    Call call(ctx, "diopiLinear", {out}, {input, weight, bias}, {3});
    const bool fits = call.haveRank({2}, 2) && call.haveShape({3}, {call.shape(2)[0]});
    // The weight is [n, k], and seen as its transpose.
    return fits && call.moveLast({0}, {2}) ? multiplyTensors(call, false, 1, 1, launch) : call.rejected();
}

Status linearBackward(const Launch& launch, Context ctx, Out grad_input, Out grad_weight, Out grad_bias, In grad_output,
                      In input, In weight) {
    const Call call(ctx, "diopiLinearBackward", {grad_input, grad_weight, grad_bias}, {grad_output, input, weight},
                    {0, 1, 2});
    if (!call.haveRank({5}, 2) || call.rank(4) < 1 || !call.isOneFloat()) {
        return call.rejected();
    }
    const int64_t n = call.shape(5)[0], k = call.shape(5)[1];
    Shape gradient = call.shape(4);
    gradient.back() = n;
    if (call.shape(4).back() != k || !call.haveShape({0}, call.shape(4)) || !call.haveShape({1}, {n, k}) ||
        !call.haveShape({2}, {n}) || !call.haveShape({3}, gradient)) {
        return call.rejected();
    }
    return launched(call, launch, [=, rows = product(gradient) / n](const Kernel& kernel) {
        const Values g = load(kernel, 3);
        if (kernel.buffer(0).isTensor) {
            Values result(static_cast<std::size_t>(rows * k));
            multiplyMatrices(rows, n, k, g.data(), load(kernel, 5).data(), result.data());
            store(kernel, 0, result);
        }
        if (kernel.buffer(1).isTensor) {
            const Values x = load(kernel, 4);
            Values result(static_cast<std::size_t>(n * k));
            multiplyMatrices(n, rows, k, Matrix<double>{g.data(), 1, n}, Matrix<double>{x.data(), k, 1}, result.data());
            store(kernel, 1, result);
        }
        Values sums(static_cast<std::size_t>(n));
        for (std::size_t i = 0; i < g.size(); ++i) {
            sums[i % n] += g[i];
        }
        storeIfAny(kernel, 2, sums);
    });
}

// A vector on the left is a row, and one on the right a column; what is in front of the last two dimensions broadcasts.
Status matmul(const Launch& launch, Context ctx, Out out, In input, In other) {
    const Call call(ctx, "diopiMatmul", {out}, {input, other});
    if (!call.isOneFloat() || call.rank(1) < 1 || call.rank(2) < 1) {
        return call.rejected();
    }
    Shape left = call.shape(1), right = call.shape(2);
    const bool isRow = left.size() == 1, is_column = right.size() == 1;
    left.insert(left.begin(), isRow ? 1 : 0, 1);
    right.insert(right.end(), is_column ? 1 : 0, 1);
    const int64_t m = left[left.size() - 2], k = left.back(), n = right.back();
    Shape batch(left.begin(), left.end() - 2);
    if (right[right.size() - 2] != k || !broadcast(&batch, Shape(right.begin(), right.end() - 2))) {
        return call.rejected();
    }
    Shape expected = batch;
    expected.insert(expected.end(), isRow ? 0 : 1, m);
    expected.insert(expected.end(), is_column ? 0 : 1, n);
    if (!call.haveShape({0}, expected)) {
        return call.rejected();
    }
    left = right = batch;
    left.insert(left.end(), 1, m);
    left.insert(left.end(), 1, k);
    right.insert(right.end(), 1, k);
    right.insert(right.end(), 1, n);
    return launched(call, launch, [=](const Kernel& kernel) {
        const Values x = load(kernel, 1, left), y = load(kernel, 2, is_column ? Shape{k} : right);
        Values z(static_cast<std::size_t>(product(expected)));
        for (int64_t i = 0; i < product(batch); ++i) {
            multiplyMatrices(m, k, n, &x[i * m * k], &y[is_column ? 0 : i * k * n], &z[i * m * n]);
        }
        store(kernel, 0, z);
    });
}

}  // namespace diopigen::kernels::operators
