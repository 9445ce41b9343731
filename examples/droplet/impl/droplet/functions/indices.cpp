// Operators of droplet that make positions, or read and write the elements that positions name.
#include <diopigen_kernels/indexing.h>
#include <diopigen_kernels/operators.h>

#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

#include "droplet/kernel.h"

namespace impl {
namespace droplet {

extern diopiError_t diopiFill(Context ctx, Out input, const diopiScalar_t* value);  // written by `diopigen elementwise`

namespace {

// What `compute` makes of the operands of a call on the device. The host waits for it: the kernel writes to a mailbox
// in host memory, which both reach, as doorbells of real chips are.
template <typename Compute, typename Result>
diopiError_t waitFor(Context ctx, const Call& call, Compute compute, Result* value) {
    diopiStreamHandle_t stream = nullptr;
    if (diopiGetStream(ctx, &stream) != diopiSuccess) {
        return diopiErrorOccurred;
    }
    const auto mailbox = std::make_shared<Result>();
    const diopiError_t queued = run(call, [=](const Kernel& k) { *mailbox = compute(k); });
    if (queued != diopiSuccess) {
        return queued;
    }
    const diopiError_t status = answer(diopigen::sim::synchronize(stream));
    *value = std::move(*mailbox);
    return status;
}

// Positions of the elements that differ from zero, as rows of a new tensor [count, rank]. The host must know how many
// there are.
diopiError_t positionsOf(Context ctx, In input, Out* found, int64_t* count) {
    const Call counting(ctx, "diopiNonzero/count", {}, {input});
    const int64_t rank = counting.rank(0);
    const auto counted = [](const Kernel& k) {
        const Values all = load(k, 0);
        return static_cast<int64_t>(all.size()) - std::count(all.begin(), all.end(), 0.0);
    };
    if (const diopiError_t status = waitFor(ctx, counting, counted, count); status != diopiSuccess) {
        return status;
    }
    int64_t sizes[] = {*count, rank};
    const diopiSize_t shape{sizes, 2};
    if (diopiRequireTensor(ctx, found, &shape, nullptr, diopi_dtype_int64, diopi_device) != diopiSuccess) {
        return diopiErrorOccurred;
    }
    const Call writing(ctx, "diopiNonzero/write", {*found}, {input});
    return *count * rank == 0 ? diopiSuccess : run(writing, [](const Kernel& k) {
        const Values all = load(k, 1);
        int64_t* row = k.out<int64_t>(0);
        const Shape& shape = k.buffer(1).shape;
        for (size_t i = 0; i < all.size(); ++i) {
            if (all[i] != 0) {
                for (size_t d = shape.size(), rest = i; d-- > 0; rest /= shape[d]) {
                    row[d] = static_cast<int64_t>(rest % shape[d]);
                }
                row += shape.size();
            }
        }
    });
}

// Of the elements that the index tensors from number `first` on name. Throws std::out_of_range.
std::vector<int64_t> offsets(const Kernel& k, int first, const Indexing& plan) {
    std::vector<Input<int64_t>> inputs;
    std::vector<const int64_t*> indices;
    for (size_t i = 0; i < plan.dims.size(); ++i) {
        inputs.emplace_back(k, first + i, plan.positions);
    }
    for (const Input<int64_t>& each : inputs) {
        indices.push_back(each.data());
    }
    return plan.offsets(indices);
}

// Adds the index tensors of operand `of` to a call; masks become their positions.
diopiError_t addIndices(Context ctx, Call& call, int of, In* indices, int64_t count, Indexing* plan) {
    plan->shape = call.shape(of);
    size_t dim = 0;
    for (int64_t i = 0; i < count; ++i) {
        if (indices[i] == nullptr) {
            ++dim;
            continue;
        }
        Buffer index;
        if (bufferOf(indices[i], Access::read, &index) != diopiSuccess || index.bytes == 0) {
            return leave(call);
        }
        const bool isMask = index.dtype == diopi_dtype_bool || index.dtype == diopi_dtype_uint8;
        const size_t covered = isMask ? index.shape.size() : 1;
        if (covered == 0 || dim + covered > plan->shape.size()) {
            return leave(call);
        }
        Shape shape = index.shape;
        if (isMask) {
            const auto first = plan->shape.begin() + static_cast<int64_t>(dim);
            Out rows = nullptr;
            int64_t found = 0;
            if (!std::equal(shape.begin(), shape.end(), first)) {
                return leave(call);
            }
            if (const diopiError_t status = positionsOf(ctx, indices[i], &rows, &found); status != diopiSuccess) {
                return status;
            }
            shape = {found};
            for (size_t column = 0; column < covered && found > 0; ++column) {
                Buffer buffer;
                if (bufferOf(rows, Access::read, &buffer) != diopiSuccess) {
                    return diopiErrorOccurred;
                }
                buffer.pointer = static_cast<const int64_t*>(buffer.pointer) + column;
                buffer.bytes -= (covered - 1) * sizeof(int64_t);
                buffer.shape = {found};
                buffer.stride = {static_cast<int64_t>(covered)};
                call.add(std::move(buffer));
            }
        } else {
            call.add(indices[i], Access::read);  // sparse ones and those of the host are left
        }
        if (!broadcast(&plan->positions, shape) || product(shape) == 0) {
            return leave(call);
        }
        for (size_t k = 0; k < covered; ++k) {
            plan->dims.push_back(dim++);
        }
    }
    return plan->dims.empty() || dim > plan->shape.size() || !call.isComplete() ? leave(call) : diopiSuccess;
}

// Runs `compute(kernel, offsets)` with the offsets that the index tensors from number `first` on name. The host waits:
// a position outside its dimension is an error of the call, which the reference raises; nothing is written then.
template <typename Compute>
diopiError_t runIndexed(Context ctx, const Call& call, int first, const Indexing& plan, Compute compute) {
    const auto attempt = [=](const Kernel& k) {
        std::vector<int64_t> named;
        try {
            named = offsets(k, first, plan);
        } catch (const std::out_of_range&) {
            return false;
        }
        compute(k, named);
        return true;
    };
    bool isDone = false;
    const diopiError_t status = waitFor(ctx, call, attempt, &isDone);
    return status == diopiSuccess && !isDone ? leave(call, "a position is outside its dimension") : status;
}

// Whether elements are without gaps, and of a type that others than Input and Output have: these would convert the
// whole tensor for a few positions.
bool isMovable(const Buffer& buffer) {
    return buffer.dtype != diopi_dtype_float32 && buffer.dtype != diopi_dtype_int64 &&
           isInOrder(buffer.shape, buffer.stride);
}

// Copies elements as they are in memory: block i is at named[i] in one array, and at i blocks in the other.
void copyBlocks(const char* from, bool isNamed, char* to, const std::vector<int64_t>& named, int64_t block,
                std::size_t size) {
    const std::size_t bytes = static_cast<std::size_t>(block) * size;
    for (std::size_t i = 0; i < named.size(); ++i) {
        const std::size_t at = static_cast<std::size_t>(named[i]) * size;
        std::memcpy(to + (isNamed ? i * bytes : at), from + (isNamed ? at : i * bytes), bytes);
    }
}

std::size_t sizeOf(const Buffer& buffer) { return buffer.bytes / static_cast<std::size_t>(product(buffer.shape)); }

template <typename Value>
Value sum(Value a, Value b) {
    return a + b;
}
int64_t sum(int64_t a, int64_t b) { return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b)); }

// Result 0 is operand 1 with the elements that indices name replaced by operand 2, or with operand 2 added to them.
diopiError_t indexPut(Context ctx, Call call, In* indices, int64_t count, bool accumulate) {
    Indexing plan;
    if (!call.isComplete() || !call.haveShape({1}, call.shape(0)) || !call.haveDtype({1, 2}, call.dtype(0))) {
        return leave(call);
    }
    const diopiError_t status = addIndices(ctx, call, 1, indices, count, &plan);
    if (status != diopiSuccess) {
        return status;
    }
    const Shape block = plan.result();
    Shape joined = block;
    const bool isPlain = broadcast(&joined, call.shape(2)) && joined == block;
    if (!isPlain) {
        return leave(call);
    }
    return runIndexed(ctx, call, 3, plan, [=](const Kernel& k, const std::vector<int64_t>& named) {
        const bool isSame = k.buffer(0).pointer == k.buffer(1).pointer && product(k.buffer(2).shape) == product(block);
        if (!accumulate && isSame && isMovable(k.buffer(0)) && isMovable(k.buffer(1)) && isMovable(k.buffer(2))) {
            copyBlocks(k.in<char>(2), false, k.out<char>(0), named, plan.block(), sizeOf(k.buffer(2)));
            return;
        }
        withValues(k.buffer(0).dtype, [&](auto zero) {
            using Value = decltype(zero);
            const Input<Value> old(k, 1, plan.shape), values(k, 2, block);
            Output<Value> out(k, 0, plan.shape);
            if (out.data() != old.data()) {
                std::copy_n(old.data(), product(plan.shape), out.data());
            }
            const Value* value = values.data();
            for (const int64_t offset : named) {
                Value* const to = out.data() + offset;
                for (int64_t i = 0; i < plan.block(); ++i, ++value) {
                    to[i] = accumulate ? sum(to[i], *value) : *value;
                }
            }
            out.finish();
        });
    });
}

}  // namespace

diopiError_t diopiNonzero(Context ctx, Out* out, In input) {
    int64_t count = 0;
    return positionsOf(ctx, input, out, &count);
}

diopiError_t diopiIndex(Context ctx, Out* out, In input, In* indices, int64_t nums) {
    Call call(ctx, "diopiIndex", {}, {input});
    Indexing plan;
    if (!call.isComplete()) {
        return leave(call);
    }
    const diopiError_t status = addIndices(ctx, call, 0, indices, nums, &plan);
    if (status != diopiSuccess) {
        return status;
    }
    Shape shape = plan.result();
    const diopiSize_t size{shape.data(), static_cast<int64_t>(shape.size())};
    if (product(shape) == 0) {
        return leave(call);
    }
    if (diopiRequireTensor(ctx, out, &size, nullptr, call.dtype(0), diopi_device) != diopiSuccess) {
        return diopiErrorOccurred;
    }
    const int result = call.add(*out, Access::write);
    return runIndexed(ctx, call, 1, plan, [=](const Kernel& k, const std::vector<int64_t>& named) {
        if (isMovable(k.buffer(0))) {
            copyBlocks(k.in<char>(0), true, k.out<char>(result), named, plan.block(), sizeOf(k.buffer(0)));
            return;
        }
        withValues(k.buffer(0).dtype, [&](auto zero) {
            using Value = decltype(zero);
            const Input<Value> from(k, 0, plan.shape);
            Output<Value> to(k, result, shape);
            const int64_t block = plan.block();
            for (size_t i = 0; i < named.size(); ++i) {
                std::copy_n(from.data() + named[i], block, to.data() + static_cast<int64_t>(i) * block);
            }
            to.finish();
        });
    });
}

diopiError_t diopiIndexPut(Context ctx, Out out, In input, In values, In* indices, int64_t indices_counts,
                           bool accumulate) {
    return indexPut(ctx, Call(ctx, "diopiIndexPut", {out}, {input, values}), indices, indices_counts, accumulate);
}
diopiError_t diopiIndexPutInp(Context ctx, Out input, In values, In* indices, int64_t indices_counts, bool accumulate) {
    return indexPut(ctx, Call(ctx, "diopiIndexPutInp", {input}, {input, values}), indices, indices_counts, accumulate);
}

// As IndexPutInp with a tensor of the one number.
diopiError_t diopiIndexFillInpScalar(Context ctx, Out input, int64_t dim, In index, const diopiScalar_t* value) {
    const Call call(ctx, "diopiIndexFillInpScalar", {input}, {index});
    const int64_t filled = call.dim(0, dim);
    const bool isIndex = call.dtype(1) == diopi_dtype_int64 || call.dtype(1) == diopi_dtype_int32;
    if (!call.isComplete() || filled < 0 || !isIndex || call.rank(1) > 1) {
        return leave(call);
    }
    Out number = nullptr;
    const diopiSize_t one{nullptr, 0};
    if (diopiRequireTensor(ctx, &number, &one, nullptr, call.dtype(0), diopi_device) != diopiSuccess) {
        return diopiErrorOccurred;
    }
    if (const diopiError_t status = diopiFill(ctx, number, value); status != diopiSuccess) {
        return status;
    }
    std::vector<In> indices(static_cast<size_t>(filled) + 1);
    indices.back() = index;
    return indexPut(ctx, Call(ctx, "diopiIndexFillInpScalar", {input}, {input, number}), indices.data(), filled + 1,
                    false);
}

diopiError_t diopiArange(Context ctx, Out out, const diopiScalar_t* start, const diopiScalar_t* end,
                         const diopiScalar_t* step) {
    return answer(operators::arange(diopigen::sim::launchAtOnceIfSmall, ctx, out, start, end, step));
}

}  // namespace droplet
}  // namespace impl
