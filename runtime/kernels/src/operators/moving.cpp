#include <diopigen/elementwise/functions.h>
#include <diopigen_kernels/elements.h>
#include <diopigen_kernels/operators.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <type_traits>

#include "launched.h"

namespace diopigen::kernels::operators {
namespace {

// Result 0 is operand 1 in its dtype and broadcast to its shape.
Status converted(const Launch& launch, const Call& call) {
    Shape shape = call.shape(0);
    if (!broadcast(&shape, call.shape(1)) || !call.haveShape({0}, shape) ||
        (isReal(call.dtype(1)) && !isReal(call.dtype(0)))) {
        return call.rejected();
    }
    return launched(call, launch, [](const Kernel& k) { convert(k, 0, 1); });
}

}  // namespace

Status permute(const Launch& launch, Context ctx, Out out, In input, diopiSize_t dims) {
    Call call(ctx, "diopiPermute", {out}, {input});
    const Shape order = shapeOf(dims);
    const bool is_plain = static_cast<int64_t>(order.size()) == call.rank(1) && call.moveLast(order, {1}) &&
                          call.haveShape({0}, call.shape(1)) && call.haveDtype({1}, call.dtype(0));
    return is_plain ? converted(launch, call) : call.rejected();
}

// For each index of the dimensions in front of `dim`, the tensors follow each other.
Status cat(const Launch& launch, Context ctx, Out out, In* tensors, int64_t num_inputs, int64_t dim) {
    Call call(ctx, "diopiCat", {out});
    const int64_t along = call.dim(0, dim);
    if (along < 0 || tensors == nullptr || num_inputs < 1) {
        return call.rejected();
    }
    const Shape whole = call.shape(0);
    int64_t left = whole[along];
    for (int64_t i = 0; i < num_inputs; ++i) {
        const int k = call.add(tensors[i], Access::read);
        Shape shape = whole;
        shape[along] = call.rank(k) == call.rank(0) ? call.shape(k)[along] : -1;
        if (!call.hasShape(k, shape) || !call.hasDtype(k, call.dtype(0))) {
            return call.rejected();
        }
        left -= shape[along];
    }
    if (left != 0) {
        return call.rejected("the sizes of the tensors do not add up to that of the result");
    }
    return launched(call, launch, [=, outer = product(Shape(whole.begin(), whole.begin() + along))](const Kernel& k) {
        withValues(k.buffer(0).dtype, [&](auto zero) {
            using Value = decltype(zero);
            Output<Value> all(k, 0, whole);
            const int64_t pitch = product(whole) / outer;
            Value* start = all.data();
            for (int64_t i = 1; i <= num_inputs; ++i) {
                const Shape& shape = k.buffer(i).shape;
                const Input<Value> from(k, i, shape);
                const int64_t size = product(shape) / outer;
                for (int64_t at = 0; at < outer; ++at) {
                    std::copy_n(from.data() + at * size, size, start + at * pitch);
                }
                start += size;
            }
            all.finish();
        });
    });
}

Status arange(const Launch& launch, Context ctx, Out out, const diopiScalar_t* start, const diopiScalar_t* end,
              const diopiScalar_t* step) {
    constexpr double kExact = 9007199254740992;  // integers below it are doubles
    const Call call(ctx, "diopiArange", {out});
    const elementwise::Number from(start), to(end), by(step);
    for (const elementwise::Number& each : {from, to, by}) {
        const bool is_exact = each.fits<int64_t>() && std::abs(each.value()) < kExact;
        if (!each.isNumber() || !(is_exact || isReal(call.dtype(0))) || call.dtype(0) == diopi_dtype_bool) {
            return call.rejected("a number does not fit the dtype of the result");
        }
    }
    const double count = by.value() == 0 ? -1 : std::ceil((to.value() - from.value()) / by.value());
    if (count != static_cast<double>(product(call.shape(0)))) {
        return call.rejected("the result has another number of elements");
    }
    return launched(call, launch, [=, shape = call.shape(0)](const Kernel& k) {
        withValues(k.buffer(0).dtype, [&](auto zero) {
            using Value = decltype(zero);
            Output<Value> all(k, 0, shape);
            for (int64_t i = 0; i < product(shape); ++i) {
                all.data()[i] = std::is_integral<Value>::value
                                    ? static_cast<Value>(from.integer() + i * by.integer())
                                    : static_cast<Value>(from.value() + static_cast<double>(i) * by.value());
            }
            all.finish();
        });
    });
}

namespace {

// Result 0 is what operand 2 names of operand 1 along `dim`.
Status selected(const Launch& launch, const Call& call, int64_t dim, const Shape& expected) {
    if (dim < 0 || !call.haveShape({0}, expected) || !call.haveDtype({1}, call.dtype(0)) || isReal(call.dtype(2))) {
        return call.rejected();
    }
    return launched(call, launch, [=, shape = call.shape(1)](const Kernel& k) {
        withValues(k.buffer(0).dtype, [&](auto zero) {
            using Value = decltype(zero);
            const Input<Value> from(k, 1, shape);
            const Input<int64_t> named(k, 2, k.buffer(2).shape);
            Output<Value> to(k, 0, expected);
            const int64_t outer = product(Shape(shape.begin(), shape.begin() + dim)), size = shape[dim];
            const int64_t block = product(shape) / (outer * size), count = product(expected) / (outer * block);
            for (int64_t i = 0; i < outer * count; ++i) {
                const int64_t position = named.data()[i % count];
                if (position < 0 || position >= size) {
                    throw std::out_of_range("a position is outside its dimension");
                }
                std::copy_n(from.data() + (i / count * size + position) * block, block, to.data() + i * block);
            }
            to.finish();
        });
    });
}

// Positions along the last dimension of a tensor in the order of their elements. NaN counts as the largest.
template <typename Value>
void rank(const Value* x, int64_t size, int64_t count, bool largest_first, std::vector<int64_t>* order) {
    order->resize(static_cast<std::size_t>(size));
    std::iota(order->begin(), order->end(), 0);
    const auto is_less = [x](int64_t a, int64_t b) { return x[a] < x[b] || (x[b] != x[b] && x[a] == x[a]); };
    std::partial_sort(order->begin(), order->begin() + count, order->end(), [&](int64_t a, int64_t b) {
        const bool is_first = largest_first ? is_less(b, a) : is_less(a, b),
                   is_last = largest_first ? is_less(a, b) : is_less(b, a);
        return is_first || (!is_last && a < b);
    });
}

// The positions, and with result 1 the elements, of the `count` first of each row, of `size` elements, of the last
// tensor.
Status ranked(const Launch& launch, const Call& call, int64_t size, int64_t count, bool largest_first) {
    return launched(call, launch, [=, shape = call.shape(2)](const Kernel& k) {
        withValues(k.buffer(2).dtype, [&](auto zero) {
            using Value = decltype(zero);
            const Input<Value> x(k, 2, shape);
            Output<int64_t> positions(k, 0, k.buffer(0).shape);
            Output<Value> values(k, 1, k.buffer(0).shape);
            std::vector<int64_t> order;
            for (int64_t row = 0; row < product(shape) / size; ++row) {
                rank(x.data() + row * size, size, count, largest_first, &order);
                for (int64_t i = 0; i < count; ++i) {
                    positions.data()[row * count + i] = order[i];
                    values.data()[row * count + i] = x.data()[row * size + order[i]];
                }
            }
            positions.finish();
            values.finish();
        });
    });
}

}  // namespace

Status indexSelect(const Launch& launch, Context ctx, Out out, In input, int64_t dim, In index) {
    const Call call(ctx, "diopiIndexSelect", {out}, {input, index});
    const int64_t along = call.dim(1, dim);
    Shape expected = call.shape(1);
    if (along < 0 || call.rank(2) > 1) {
        return call.rejected();
    }
    expected[along] = product(call.shape(2));
    return selected(launch, call, along, expected);
}

Status embedding(const Launch& launch, Context ctx, Out out, In weight, In indices, int64_t /*padding_idx*/,
                 bool /*scale_grad_byfreq*/, bool /*sparse*/) {
    const Call call(ctx, "diopiEmbedding", {out}, {weight, indices});
    Shape expected = call.shape(2);
    expected.push_back(call.rank(1) == 2 ? call.shape(1)[1] : -1);
    return selected(launch, call, 0, expected);
}

Status topk(const Launch& launch, Context ctx, Out values, Out indices, In input, int64_t k, int64_t dim, bool largest,
            bool /*sorted*/) {
    Call call(ctx, "diopiTopk", {indices, values}, {input});
    const int64_t along = call.dim(2, dim);
    Shape expected = call.shape(2);
    if (along < 0 || k > expected[along] || !call.haveDtype({1}, call.dtype(2)) || isReal(call.dtype(0))) {
        return call.rejected();
    }
    expected[along] = k;
    if (!call.haveShape({0, 1}, expected) || !call.moveLast({along}, {0, 1, 2})) {
        return call.rejected();
    }
    return ranked(launch, call, call.shape(2).back(), k, largest);
}

Status argmax(const Launch& launch, Context ctx, Out out, In input, const int64_t* dim, bool keepdim) {
    Call call(ctx, "diopiArgmax", {out, nullptr}, {input}, {1});
    Shape expected = call.shape(2);
    const int64_t along = dim == nullptr ? -1 : call.dim(2, *dim);
    if (isReal(call.dtype(0)) || (dim != nullptr && along < 0)) {
        return call.rejected();
    }
    if (dim == nullptr) {
        expected = Shape(keepdim ? expected.size() : 0, 1);
    } else if (keepdim) {
        expected[along] = 1;
    } else {
        expected.erase(expected.begin() + along);
    }
    if (!call.haveShape({0}, expected) || (dim != nullptr && !call.moveLast({along}, {2}))) {
        return call.rejected();
    }
    const Shape& shape = call.shape(2);
    return ranked(launch, call, dim == nullptr ? product(shape) : shape.back(), 1, true);
}

Status castDtype(const Launch& launch, Context ctx, Out out, In input) {
    const Call call(ctx, "diopiCastDtype", {out}, {input});
    return call.haveShape({0}, call.shape(1)) ? converted(launch, call) : call.rejected();
}

Status copyInp(const Launch& launch, Context ctx, In src, Out dest) {
    return converted(launch, Call(ctx, "diopiCopyInp", {dest}, {src}));
}

}  // namespace diopigen::kernels::operators
