// The walk of an elementwise call over its operands, block by block.
#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "diopi_core/elementwise.h"
#include "diopi_core/strided.h"
#include "diopi_core/threads.h"
#include "diopi_cpu/stream.h"

namespace diopi::core {

using namespace cpu;

namespace {

constexpr int kMaxOperands = kMaxInputs + kMaxOutputs;
constexpr int64_t kGrain = 16 * kBlock;
constexpr int64_t kLongBlock = 16 * kBlock;    // where every operand is used in place
constexpr int64_t kBufferBytes = kBlock * 16;  // a block of the largest dtype

// Memory of one thread for the buffers of a call, kept from call to call. Each operand has two blocks.
class Buffers {
  public:
    explicit Buffers(int operands) {
        thread_local Memory memory;
        const size_t bytes = static_cast<size_t>(operands) * 2 * kBufferBytes;
        if (memory.bytes < bytes) {
            memory.data.reset(static_cast<char*>(::operator new(bytes, std::align_val_t{64})));
            memory.bytes = bytes;
        }
        data_ = memory.data.get();
    }
    // The block of an operand in the type that the loop computes in, and the one in the type that is stored.
    char* computed(int k) const { return data_ + 2 * k * kBufferBytes; }
    char* stored(int k) const { return data_ + (2 * k + 1) * kBufferBytes; }

  private:
    struct Free {
        void operator()(char* data) const { ::operator delete(data, std::align_val_t{64}); }
    };
    struct Memory {
        std::unique_ptr<char, Free> data;
        size_t bytes = 0;
    };
    char* data_ = nullptr;
};

// How the elements of an operand reach the loop, or leave it.
enum class Way : uint8_t {
    kDropped,   // an output that nobody asked for
    kUniform,   // one value for all elements: a block of it is made once
    kInPlace,   // the loop works on the tensor itself
    kBuffered,  // through a buffer, but for blocks that turn out to be in place
    kStreamed,  // an output through a buffer, past the caches
};

struct Operand {
    char* data;
    const Strided* strided;  // null where element i is at data + i * element
    int64_t element;
    Dtype stored;
    Dtype computed;
    Dtype half;  // what values are rounded to on the way, though they are computed in float
    Way way;

    bool is_same_type() const { return stored == computed && half == Dtype::kUnsupported; }
    bool is_aligned(const char* address) const { return reinterpret_cast<uintptr_t>(address) % alignment() == 0; }
    // The address of `count` elements from `start` where they are contiguous, else null.
    char* contiguous(int64_t start, int64_t count) const {
        return strided == nullptr ? data + start * element : strided->contiguous(start, count);
    }

  private:
    uintptr_t alignment() const { return static_cast<uintptr_t>(element); }
};

// Rounds floats to a half.
void round_to(Dtype half, void* values, int64_t count) {
    Half buffer[kBlock];
    convert(Dtype::kFloat32, values, half, buffer, count);
    convert(half, buffer, Dtype::kFloat32, values, count);
}

void load(const Operand& operand, int64_t start, int64_t count, char* stored, char* computed) {
    const char* from = operand.contiguous(start, count);
    if (from == nullptr) {
        from = operand.stored == operand.computed ? computed : stored;
        operand.strided->gather(start, count, const_cast<char*>(from));
    }
    if (from != computed) {
        convert(operand.stored, from, operand.computed, computed, count);
    }
    if (operand.half != Dtype::kUnsupported) {
        round_to(operand.half, computed, count);
    }
}

void store(const Operand& operand, int64_t start, int64_t count, char* stored, char* computed) {
    if (operand.half != Dtype::kUnsupported) {
        round_to(operand.half, computed, count);
    }
    char* target = operand.contiguous(start, count);
    const bool is_streamed = operand.way == Way::kStreamed;
    char* result = computed;
    if (!(operand.stored == operand.computed && (is_streamed || target == nullptr))) {
        result = target == nullptr || is_streamed ? stored : target;
        convert(operand.computed, computed, operand.stored, result, count);
    }
    if (is_streamed) {
        stream_copy(target, result, count * operand.element);
    } else if (target == nullptr) {
        operand.strided->scatter(start, count, result);
    }
}

// Makes `count` elements of the first one.
void repeat(char* data, int64_t element, int64_t count) {
    for (int64_t done = 1; done < count; done *= 2) {
        std::memcpy(data + done * element, data, static_cast<size_t>(std::min(done, count - done) * element));
    }
}

void load_one(const Number& number, Dtype dtype, void* target) {
    dispatch<kAny>(dtype, [&](auto sample) {
        using T = decltype(sample);
        *static_cast<T*>(target) = number.as<T>();
    });
}

bool is_linear(const Tensor& tensor, const Tensor& result) {
    return result.numel == 1 || (is_same_shape(tensor, result) && is_contiguous(tensor));
}

// One call with its operands prepared. Threads walk parts of it.
class Walk {
  public:
    Walk(const Tensor& result, Loop loop, const Number* constants, bool is_indexed)
        : result_(result), loop_(loop), constants_(constants), is_indexed_(is_indexed) {}

    void part(int64_t begin, int64_t end) const;

    std::array<Operand, kMaxOperands> operands;  // inputs, then outputs
    std::array<const Number*, kMaxInputs> numbers;
    int inputs = 0;
    int outputs = 0;
    bool is_buffered = false;  // whether any operand needs a buffer

  private:
    void enter_row(int64_t start, Block& block, int64_t* coordinates) const;

    const Tensor& result_;
    Loop loop_;
    const Number* constants_;
    bool is_indexed_;
};

// Cuts the block so that it ends with its row, and gives the coordinates of its first element: all but the innermost
// are those of every element.
void Walk::enter_row(int64_t start, Block& block, int64_t* coordinates) const {
    const int64_t row = result_.rank == 0 ? 1 : result_.shape[result_.rank - 1];
    block.count = std::min({kBlock - start % kBlock, row - start % row, block.count});
    int64_t rest = start;
    for (int64_t d = result_.rank; d-- > 0;) {
        coordinates[d] = rest % result_.shape[d];
        rest /= result_.shape[d];
    }
}

void Walk::part(int64_t begin, int64_t end) const {
    const Buffers buffers(is_buffered ? inputs + outputs : 0);
    int64_t coordinates[kMaxRank];
    Block block;
    block.constants = constants_;
    block.coordinates = coordinates;
    block.rank = result_.rank;
    const int64_t step = is_buffered || is_indexed_ ? kBlock : kLongBlock;
    for (int k = 0; k < inputs; ++k) {
        if (operands[k].way == Way::kUniform) {
            char* one = buffers.computed(k);
            if (numbers[k] != nullptr) {
                load_one(*numbers[k], operands[k].computed, one);
            } else {
                load(operands[k], 0, 1, buffers.stored(k), one);
            }
            repeat(one, size_of(operands[k].computed), std::min(end - begin, kBlock));
            block.inputs[k] = one;
        }
    }
    bool has_streamed = false;
    for (int64_t start = begin; start < end; start += block.count) {
        block.first = start;
        block.count = std::min(end - start, step);
        if (is_indexed_) {
            enter_row(start, block, coordinates);
        }
        for (int k = 0; k < inputs; ++k) {
            const Operand& operand = operands[k];
            if (operand.way == Way::kInPlace) {
                block.inputs[k] = operand.data + start * operand.element;
            } else if (operand.way == Way::kBuffered) {
                const char* found = operand.is_same_type() ? operand.contiguous(start, block.count) : nullptr;
                if (found == nullptr || !operand.is_aligned(found)) {
                    load(operand, start, block.count, buffers.stored(k), buffers.computed(k));
                    found = buffers.computed(k);
                }
                block.inputs[k] = found;
            }
        }
        for (int k = 0; k < outputs; ++k) {
            const Operand& operand = operands[inputs + k];
            char* target = nullptr;
            if (operand.way == Way::kInPlace) {
                target = operand.data + start * operand.element;
            } else if (operand.way == Way::kBuffered && operand.is_same_type()) {
                target = operand.contiguous(start, block.count);
                target = target != nullptr && operand.is_aligned(target) ? target : nullptr;
            }
            block.outputs[k] = target != nullptr ? target : buffers.computed(inputs + k);
        }
        loop_(block);
        for (int k = 0; k < outputs; ++k) {
            const int at = inputs + k;
            const Operand& operand = operands[at];
            if (operand.way >= Way::kBuffered && block.outputs[k] == buffers.computed(at)) {
                store(operand, start, block.count, buffers.stored(at), buffers.computed(at));
                has_streamed = has_streamed || operand.way == Way::kStreamed;
            }
        }
    }
    if (has_streamed) {
        end_streaming();
    }
}

}  // namespace

void Elementwise::run(const Loops& loops) const {
    const Tensor& result = shape_source();
    const Loop loop = compute_ == Dtype::kUnsupported ? nullptr : loops[static_cast<int>(compute_)];
    if (loop == nullptr) {
        fail(std::string("operands of dtype ") + name_of(promoted_) + " together are not supported",
             diopiDtypeNotSupported);
    }
    require_outputs_apart();
    if (result.is_null() || result.numel == 0) {
        return;
    }
    Walk walk(result, loop, constants_.data(), indexed_);
    walk.inputs = input_count_;
    walk.outputs = output_count_;
    const int count = input_count_ + output_count_;
    // With a float16 or bfloat16 result, what is stored in another type becomes a half all the same.
    const auto prepare = [&](Operand& operand, const Tensor& tensor, bool is_rounded) {
        operand.data = static_cast<char*>(tensor.data);
        operand.strided = nullptr;
        operand.element = size_of(tensor.dtype);
        operand.stored = tensor.dtype;
        operand.half =
            is_half(promoted_) && operand.computed == Dtype::kFloat32 && is_rounded ? promoted_ : Dtype::kUnsupported;
        operand.way = operand.is_same_type() && operand.is_aligned(operand.data) ? Way::kInPlace : Way::kBuffered;
    };
    bool all_linear = true;
    for (int k = 0; k < input_count_; ++k) {
        const Tensor* tensor = inputs_[k].tensor;
        Operand& operand = walk.operands[k];
        operand.computed = inputs_[k].dtype;
        walk.numbers[k] = tensor == nullptr ? &inputs_[k].number : nullptr;
        if (tensor == nullptr) {
            operand.way = Way::kUniform;
        } else {
            prepare(operand, *tensor, is_integral(tensor->dtype));
            if (tensor->numel == 1 && result.numel != 1) {
                operand.way = Way::kUniform;
            } else {
                all_linear = all_linear && is_linear(*tensor, result);
            }
        }
        walk.is_buffered = walk.is_buffered || operand.way != Way::kInPlace;
    }
    for (int k = 0; k < output_count_; ++k) {
        const Tensor& tensor = *outputs_[k].tensor;
        Operand& operand = walk.operands[input_count_ + k];
        operand.computed = outputs_[k].dtype;
        if (tensor.is_null()) {
            operand.way = Way::kDropped;
        } else {
            prepare(operand, tensor, tensor.dtype != promoted_);
            all_linear = all_linear && is_linear(tensor, result);
        }
        walk.is_buffered = walk.is_buffered || operand.way != Way::kInPlace;
    }
    std::vector<Strided> layouts;
    if (!all_linear) {
        Order order = indexed_ ? logical_order(result.shape, result.rank)
                               : memory_order(result.shape, result.strides, result.rank);
        const int plain_rank = order.rank;
        for (int k = 0; k < input_count_ && !indexed_ && order.rank == plain_rank; ++k) {
            if (inputs_[k].tensor != nullptr) {
                order = tiled(order, *inputs_[k].tensor, result.rank);
            }
        }
        layouts.reserve(static_cast<size_t>(count));
        for (int k = 0; k < count; ++k) {
            Operand& operand = walk.operands[k];
            const Tensor* tensor = k < input_count_ ? inputs_[k].tensor : outputs_[k - input_count_].tensor;
            if (operand.way != Way::kInPlace && operand.way != Way::kBuffered) {
                continue;
            }
            layouts.push_back(strided(*tensor, order, result.rank));
            const Strided& layout = layouts.back();
            if (layout.is_uniform() && k < input_count_) {
                operand.way = Way::kUniform;
            } else if (!layout.is_dense()) {
                operand.strided = &layout;
                operand.way = Way::kBuffered;
            }
            walk.is_buffered = walk.is_buffered || operand.way != Way::kInPlace;
        }
    }
    for (int k = 0; k < output_count_; ++k) {
        Operand& output = walk.operands[input_count_ + k];
        bool is_fresh = output.way != Way::kDropped && output.strided == nullptr;
        is_fresh = is_fresh && is_worth_streaming(result.numel * output.element);
        for (int i = 0; i < input_count_; ++i) {
            // What was just read is in the cache already.
            is_fresh = is_fresh && (walk.numbers[i] != nullptr || walk.operands[i].data != output.data);
        }
        if (is_fresh) {
            output.way = Way::kStreamed;
            walk.is_buffered = true;
        }
    }
    parallel_for(result.numel, kGrain, [&](int64_t begin, int64_t end) { walk.part(begin, end); });
}

}  // namespace diopi::core
