// First versions of linear layers of quantized weights. Only weights and levels without gaps are read and written.
#include <diopigen_kernels/operators.h>
#include <diopigen_kernels/serving/quantized.h>

#include "launched.h"
#include "owners.h"

namespace diopigen::kernels::operators {

using namespace serving;

namespace {

// The sizes in front of the last one.
Shape leading(const Shape& shape) { return Shape(shape.begin(), shape.end() - (shape.empty() ? 0 : 1)); }

Shape with_last(Shape shape, int64_t size) {
    shape.insert(shape.end(), 1, size);
    return shape;
}

}  // namespace

Status packedLinear(const Launch& launch, Context ctx, Out out, In input, In weight, In scale, In zero_point, In bias,
                    int64_t bits) {
    const Call call(ctx, "diopiPackedLinear", {out}, {input, weight, scale, zero_point, bias}, {4, 5});
    if (!call.isComplete() || call.rank(1) < 1 || !call.haveRank({2, 3}, 2) || !isFloat(call.dtype(1)) ||
        !call.haveDtype({0, 3, 5}, call.dtype(1)) || !call.haveDtype({2, 4}, diopi_dtype_int32) ||
        (bits != 4 && bits != 8) || !call.isInOrder(2) || (call.has(4) && !call.isInOrder(4))) {
        return call.rejected();
    }
    const Shape shape = call.shape(1), rows = leading(shape);
    const int64_t depth = shape.back(), width = call.shape(2)[0], groups = call.shape(3)[1];
    if (!call.haveShape({0}, with_last(rows, width)) || call.shape(2)[1] * 32 != depth * bits ||
        call.shape(3)[0] != width || depth % groups != 0 || !call.haveShape({5}, {width}) ||
        (call.has(4) && (width * bits % 32 != 0 || !call.haveShape({4}, {width * bits / 32, groups})))) {
        return call.rejected();
    }
    return launched(call, launch, [=](const Kernel& k) {
        const FloatInput x(k, 1, shape), factors(k, 3, {width, groups}), shift(k, 5, {width});
        FloatOutput to(k, 0, with_last(rows, width));
        each(product(rows) * width, depth,
             PackedProduct{to.data(), x.data(), k.in<int32_t>(2), factors.data(),
                           k.buffer(4).isTensor ? k.in<int32_t>(4) : nullptr, data_of(k, 5, shift), width, depth,
                           groups, static_cast<int>(bits)});
        to.finish();
    });
}

Status quantizeByToken(const Launch& launch, Context ctx, Out out, Out scale, In input) {
    const Call call(ctx, "diopiQuantizeByToken", {out, scale}, {input});
    const Shape shape = call.shape(2);
    if (!call.isComplete() || shape.empty() || !isFloat(call.dtype(2)) || !call.haveDtype({0}, diopi_dtype_int8) ||
        !call.haveDtype({1}, diopi_dtype_float32) || !call.haveShape({0}, shape) ||
        !call.haveShape({1}, with_last(leading(shape), 1)) || !call.isInOrder(0)) {
        return call.rejected();
    }
    return launched(call, launch, [=](const Kernel& k) {
        const FloatInput x(k, 2, shape);
        FloatOutput factors(k, 1, with_last(leading(shape), 1));
        each(product(leading(shape)), 2 * shape.back(),
             QuantizeRow{k.out<int8_t>(0), factors.data(), x.data(), shape.back()});
        factors.finish();
    });
}

Status scaledInt8Linear(const Launch& launch, Context ctx, Out out, In input, In weight, In input_scale,
                        In weight_scale, In bias) {
    const Call call(ctx, "diopiScaledInt8Linear", {out}, {input, weight, input_scale, weight_scale, bias}, {5});
    if (!call.isComplete() || call.rank(1) < 1 || !call.haveRank({2}, 2) || !isFloat(call.dtype(0)) ||
        !call.haveDtype({1, 2}, diopi_dtype_int8) || !call.haveDtype({3, 4}, diopi_dtype_float32) ||
        (call.has(5) && !isFloat(call.dtype(5))) || !call.isInOrder(1) || !call.isInOrder(2)) {
        return call.rejected();
    }
    const Shape rows = leading(call.shape(1)), of_input = call.shape(3), of_weight = call.shape(4);
    const int64_t depth = call.shape(1).back(), width = call.shape(2)[0];
    const bool is_by_token = of_input == with_last(rows, 1), is_by_row = of_weight == Shape{width, 1};
    if (!call.haveShape({0}, with_last(rows, width)) || call.shape(2)[1] != depth || !call.haveShape({5}, {width}) ||
        (!is_by_token && of_input != Shape{1}) || (!is_by_row && of_weight != Shape{1})) {
        return call.rejected();
    }
    return launched(call, launch, [=](const Kernel& k) {
        const FloatInput factors(k, 3, of_input), row_factors(k, 4, of_weight), shift(k, 5, {width});
        FloatOutput to(k, 0, with_last(rows, width));
        each(product(rows) * width, depth,
             Int8Product{to.data(), k.in<int8_t>(1), k.in<int8_t>(2), factors.data(), row_factors.data(),
                         data_of(k, 5, shift), width, depth, is_by_token, is_by_row});
        to.finish();
    });
}

}  // namespace diopigen::kernels::operators
