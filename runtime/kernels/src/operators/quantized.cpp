// First versions of linear layers of quantized weights. Only weights and levels without gaps are read and written.
#include <diopigen_kernels/operators.h>
#include <diopigen_kernels/serving/quantized.h>

#include "launched.h"
#include "owners.h"
#include "stored.h"

namespace diopigen::kernels::operators {

using namespace serving;

namespace {

// The sizes in front of the last one.
Shape leading(const Shape& shape) { return Shape(shape.begin(), shape.end() - (shape.empty() ? 0 : 1)); }

Shape with_last(Shape shape, int64_t size) {
    shape.insert(shape.end(), 1, size);
    return shape;
}

Float8Product::Scales scales_of(const void* data, diopiDtype_t dtype, const Shape& shape, int64_t rows, int64_t block) {
    const int64_t count = shape.back();
    return Float8Product::scales(data, dtype == diopi_dtype_float8_e8m0fnu, rows,
                                 count > 0 ? product(shape) / count : 0, count, block);
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
        call.shape(3)[0] != width || (groups == 0 ? depth != 0 : depth % groups != 0) ||
        !call.haveShape({5}, {width}) ||
        (call.has(4) && (width * bits % 32 != 0 || !call.haveShape({4}, {width * bits / 32, groups})))) {
        return call.rejected();
    }
    return launched(call, launch, [=](const Kernel& k) {
        const FloatInput x(k, 1, shape), factors(k, 3, {width, groups}), shift(k, 5, {width});
        FloatOutput to(k, 0, with_last(rows, width));
        each(product(rows) * width, depth,
             PackedProduct{to.data(),
                           x.data(),
                           {k.in<int32_t>(2), factors.data(), k.buffer(4).isTensor ? k.in<int32_t>(4) : nullptr, width,
                            groups, static_cast<int>(bits)},
                           data_of(k, 5, shift),
                           depth});
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

Status gptqLinear(const Launch& launch, Context ctx, Out out, In input, In weight, In scale, In zero_point,
                  In group_index, In bias, int64_t bits, int64_t zero_offset) {
    const Call call(ctx, "diopiGptqLinear", {out}, {input, weight, scale, zero_point, group_index, bias}, {4, 5, 6});
    if (!call.isComplete() || call.rank(1) < 1 || !call.haveRank({2, 3}, 2) || !isFloat(call.dtype(1)) ||
        !call.haveDtype({0, 3, 6}, call.dtype(1)) || !call.haveDtype({2, 4, 5}, diopi_dtype_int32) ||
        (bits != 4 && bits != 8) || zero_offset < 0 || zero_offset > 1 || !call.isInOrder(2) ||
        (call.has(4) && !call.isInOrder(4))) {
        return call.rejected();
    }
    const Shape shape = call.shape(1), rows = leading(shape);
    const int64_t depth = shape.back(), width = call.shape(2)[1], groups = call.shape(3)[0];
    const bool is_indexed = call.has(5);
    if (!call.haveShape({0}, with_last(rows, width)) || call.shape(2)[0] * 32 != depth * bits ||
        call.shape(3)[1] != width || (!is_indexed && (groups == 0 ? depth != 0 : depth % groups != 0)) ||
        !call.haveShape({6}, {width}) || !call.haveShape({5}, {depth}) ||
        (call.has(4) && (width * bits % 32 != 0 || !call.haveShape({4}, {groups, width * bits / 32})))) {
        return call.rejected();
    }
    return launched(call, launch, [=](const Kernel& k) {
        const FloatInput x(k, 1, shape), factors(k, 3, {groups, width}), shift(k, 6, {width});
        const Input<int64_t> group(k, 5, {depth});
        if (is_indexed) {
            require_within(group.data(), depth, 0, groups, "C5: every row of weights has a group of scale");
        }
        FloatOutput to(k, 0, with_last(rows, width));
        each(product(rows) * width, depth,
             GptqProduct{to.data(), x.data(), k.in<int32_t>(2), factors.data(),
                         k.buffer(4).isTensor ? k.in<int32_t>(4) : nullptr, is_indexed ? group.data() : nullptr,
                         data_of(k, 6, shift), width, depth, groups, zero_offset, static_cast<int>(bits)});
        to.finish();
    });
}

Status awqLinear(const Launch& launch, Context ctx, Out out, In input, In weight, In scale, In zero_point, In bias) {
    const Call call(ctx, "diopiAwqLinear", {out}, {input, weight, scale, zero_point, bias}, {5});
    if (!call.isComplete() || call.rank(1) < 1 || !call.haveRank({2, 3, 4}, 2) || !isFloat(call.dtype(1)) ||
        !call.haveDtype({0, 3, 5}, call.dtype(1)) || !call.haveDtype({2, 4}, diopi_dtype_int32) || !call.isInOrder(2) ||
        !call.isInOrder(4)) {
        return call.rejected();
    }
    const Shape shape = call.shape(1), rows = leading(shape);
    const int64_t depth = shape.back(), width = call.shape(3)[1], groups = call.shape(3)[0];
    if (!call.haveShape({0}, with_last(rows, width)) || width % 8 != 0 || !call.haveShape({2}, {depth, width / 8}) ||
        (groups == 0 ? depth != 0 : depth % groups != 0) || !call.haveShape({4}, {groups, width / 8}) ||
        !call.haveShape({5}, {width})) {
        return call.rejected();
    }
    return launched(call, launch, [=](const Kernel& k) {
        const FloatInput x(k, 1, shape), factors(k, 3, {groups, width}), shift(k, 5, {width});
        FloatOutput to(k, 0, with_last(rows, width));
        each(product(rows) * width, depth,
             AwqProduct{to.data(), x.data(), k.in<int32_t>(2), factors.data(), k.in<int32_t>(4), data_of(k, 5, shift),
                        width, depth, groups});
        to.finish();
    });
}

Status quantizeFloat8ByToken(const Launch& launch, Context ctx, Out out, Out scale, In input, int64_t group_size) {
    const Call call(ctx, "diopiQuantizeFloat8ByToken", {out, scale}, {input});
    const Shape shape = call.shape(2);
    if (!call.isComplete() || shape.empty() || !isFloat(call.dtype(2)) || !is_float8(call.dtype(0)) || group_size < 0 ||
        !call.haveDtype({1}, diopi_dtype_float32) || !call.haveShape({0}, shape) || !call.isInOrder(0)) {
        return call.rejected();
    }
    const int64_t size = shape.back(), length = group_size > 0 ? group_size : size;
    const int64_t groups = group_size > 0 ? (size + group_size - 1) / group_size : 1;
    if (!call.haveShape({1}, with_last(leading(shape), groups))) {
        return call.rejected();
    }
    const Float8 format = format_of(call.dtype(0));
    return launched(call, launch, [=](const Kernel& k) {
        const FloatInput x(k, 2, shape);
        FloatOutput factors(k, 1, with_last(leading(shape), groups));
        each(product(leading(shape)) * groups, 2 * length,
             QuantizeFloat8Group{k.out<uint8_t>(0), factors.data(), x.data(), size, length, groups, format});
        factors.finish();
    });
}

Status quantizeFloat8(const Launch& launch, Context ctx, Out out, In input, In scale) {
    const Call call(ctx, "diopiQuantizeFloat8", {out}, {input, scale});
    const Shape shape = call.shape(1);
    if (!call.isComplete() || !isFloat(call.dtype(1)) || !is_float8(call.dtype(0)) || !call.haveShape({0}, shape) ||
        !call.haveDtype({2}, diopi_dtype_float32) || !call.haveShape({2}, {1}) || !call.isInOrder(0)) {
        return call.rejected();
    }
    const Float8 format = format_of(call.dtype(0));
    return launched(call, launch, [=](const Kernel& k) {
        const FloatInput x(k, 1, shape), factor(k, 2, {1});
        each(product(shape), 4, QuantizeFloat8Element{k.out<uint8_t>(0), x.data(), factor.data(), format});
    });
}

Status scaledFloat8Linear(const Launch& launch, Context ctx, Out out, In input, In weight, In input_scale,
                          In weight_scale, In bias, int64_t block) {
    const Call call(ctx, "diopiScaledFloat8Linear", {out}, {input, weight, input_scale, weight_scale, bias}, {5});
    if (!call.isComplete() || call.rank(1) < 1 || !call.haveRank({2}, 2) || !isFloat(call.dtype(0)) ||
        !is_float8(call.dtype(1)) || !is_float8(call.dtype(2)) || !call.haveDtype({3}, diopi_dtype_float32) ||
        (!call.haveDtype({4}, diopi_dtype_float32) && !call.haveDtype({4}, diopi_dtype_float8_e8m0fnu)) ||
        (call.has(5) && !isFloat(call.dtype(5))) || block < 1 || !call.isInOrder(1) || !call.isInOrder(2) ||
        !call.isInOrder(4)) {
        return call.rejected();
    }
    const Shape rows = leading(call.shape(1)), of_input = call.shape(3), of_weight = call.shape(4);
    const int64_t depth = call.shape(1).back(), width = call.shape(2)[0];
    const int64_t blocks = (depth + block - 1) / block;
    const bool has_scales =
        of_input == Shape{1} || of_input == with_last(rows, 1) || of_input == with_last(rows, blocks);
    if (!call.haveShape({0}, with_last(rows, width)) || call.shape(2)[1] != depth || !call.haveShape({5}, {width}) ||
        !has_scales ||
        (of_weight != Shape{1} && of_weight != Shape{width, 1} &&
         of_weight != Shape{(width + block - 1) / block, blocks})) {
        return call.rejected();
    }
    const Float8 x_format = format_of(call.dtype(1)), weight_format = format_of(call.dtype(2));
    const diopiDtype_t scale_dtype = call.dtype(4);
    return launched(call, launch, [=](const Kernel& k) {
        const FloatInput factors(k, 3, of_input), shift(k, 5, {width});
        FloatOutput to(k, 0, with_last(rows, width));
        each(product(rows) * width, depth,
             Float8Product{to.data(), k.in<uint8_t>(1), k.in<uint8_t>(2),
                           scales_of(factors.data(), diopi_dtype_float32, of_input, product(rows), block),
                           scales_of(k.in<uint8_t>(4), scale_dtype, of_weight, width, block), data_of(k, 5, shift),
                           width, depth, block, x_format, weight_format});
        to.finish();
    });
}

}  // namespace diopigen::kernels::operators
