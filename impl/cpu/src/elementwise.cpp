#include "diopi_cpu/elementwise.h"

#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "diopi_cpu/strided.h"
#include "diopi_cpu/threads.h"

namespace diopi::cpu {

namespace {

constexpr int64_t kGrain = 16 * kBlock;
constexpr int64_t kBufferBytes = kBlock * 16;  // a block of the largest dtype

// Memory of one thread for the buffers of a call, kept from call to call. Block k of one call.
class Buffers {
  public:
    explicit Buffers(int count) {
        thread_local Memory memory;
        const size_t bytes = static_cast<size_t>(count) * kBufferBytes;
        if (memory.bytes < bytes) {
            memory.data.reset(static_cast<char*>(::operator new(bytes, std::align_val_t{64})));
            memory.bytes = bytes;
        }
        data_ = memory.data.get();
    }
    char* at(int k) const { return data_ + k * kBufferBytes; }

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

// Where the elements of one operand come from or go to.
struct Source {
    Strided strided;
    Dtype stored = Dtype::kUnsupported;
    Dtype computed = Dtype::kUnsupported;
    bool is_uniform = false;
    Dtype half = Dtype::kUnsupported;  // what values are rounded to on the way, though they are computed in float

    bool is_direct(const char* address) const {
        return stored == computed && half == Dtype::kUnsupported &&
               reinterpret_cast<uintptr_t>(address) % static_cast<uintptr_t>(strided.element) == 0;
    }
};

// Rounds floats to a half.
void round_to(Dtype half, void* values, int64_t count) {
    Half buffer[kBlock];
    convert(Dtype::kFloat32, values, half, buffer, count);
    convert(half, buffer, Dtype::kFloat32, values, count);
}

void load(const Source& source, int64_t start, int64_t count, char* gathered, char* target) {
    const char* from = source.strided.contiguous(start, count);
    if (from == nullptr) {
        from = source.stored == source.computed ? target : gathered;
        source.strided.gather(start, count, const_cast<char*>(from));
    }
    if (from != target) {
        convert(source.stored, from, source.computed, target, count);
    }
    if (source.half != Dtype::kUnsupported) {
        round_to(source.half, target, count);
    }
}

void fill(const Number& number, Dtype dtype, void* target, int64_t count) {
    dispatch<kAny>(dtype, [&](auto sample) {
        using T = decltype(sample);
        const T value = number.as<T>();
        for (int64_t i = 0; i < count; ++i) {
            static_cast<T*>(target)[i] = value;
        }
    });
}

Dtype result_dtype(Result result, Dtype compute) {
    switch (result) {
        case Result::kTruth:
            return Dtype::kBool;
        case Result::kRealPart:
            return to_real(compute);
        case Result::kComplexPair:
            return to_complex(compute);
        default:
            return compute;
    }
}

}  // namespace

void Elementwise::read(const Number& number) {
    Input& input = inputs_[input_count_++];
    input.tensor = nullptr;
    input.number = number;
    input.dtype = compute_;
}

void Elementwise::add_input(const Tensor& tensor, Dtype dtype) {
    Input& input = inputs_[input_count_++];
    input.tensor = tensor.is_null() ? nullptr : &tensor;
    input.number = Number();
    input.dtype = dtype;
}

void Elementwise::add_constant(const Number& number) { constants_[constant_count_++] = number; }

void Elementwise::write(const Tensor& tensor, Result result) {
    outputs_[output_count_++] = {&tensor, result_dtype(result, compute_)};
}

const Tensor& Elementwise::shape_source() const {
    for (int k = 0; k < output_count_; ++k) {
        if (!outputs_[k].tensor->is_null()) {
            return *outputs_[k].tensor;
        }
    }
    return *outputs_[0].tensor;
}

void Elementwise::check() const {
    const Tensor& result = shape_source();
    for (int k = 0; k < output_count_; ++k) {
        const Tensor& output = *outputs_[k].tensor;
        require_same_shape(output, result);
        require_one_device({&result, &output});
        require_no_overlap(output);
        for (int i = 0; i < k; ++i) {
            require_disjoint(output, *outputs_[i].tensor);
        }
        for (int i = 0; i < input_count_; ++i) {
            if (inputs_[i].tensor != nullptr) {
                require_no_overlap(output, *inputs_[i].tensor);
            }
        }
    }
    for (int i = 0; i < input_count_; ++i) {
        if (inputs_[i].tensor != nullptr) {
            require_broadcastable(*inputs_[i].tensor, result);
            require_one_device({&result, inputs_[i].tensor});
        }
    }
}

void Elementwise::refuse_zero(int k, const char* message) const {
    const Input& input = inputs_[k];
    if (input.tensor == nullptr) {
        require(input.number.is_real ? input.number.real != 0 : input.number.integer != 0, message);
        return;
    }
    const Tensor& tensor = *input.tensor;
    if (tensor.numel == 0) {
        return;
    }
    const Strided operand = strided(tensor, logical_order(tensor.shape, tensor.rank), tensor.rank);
    const Buffers buffers(2);
    for (int64_t start = 0; start < tensor.numel; start += kBlock) {
        const int64_t count = tensor.numel - start < kBlock ? tensor.numel - start : kBlock;
        operand.gather(start, count, buffers.at(0));
        convert(tensor.dtype, buffers.at(0), Dtype::kBool, buffers.at(1), count);
        require(std::memchr(buffers.at(1), 0, static_cast<size_t>(count)) == nullptr, message);
    }
}

void Elementwise::run(const Loops& loops) const {
    const Tensor& result = shape_source();
    const Loop loop = compute_ == Dtype::kUnsupported ? nullptr : loops[static_cast<int>(compute_)];
    if (loop == nullptr) {
        fail(std::string("operands of dtype ") + name_of(promoted_) + " together are not supported",
             diopiDtypeNotSupported);
    }
    if (result.is_null() || result.numel == 0) {
        return;
    }
    const Order order =
        indexed_ ? logical_order(result.shape, result.rank) : memory_order(result.shape, result.strides, result.rank);
    const int operand_count = input_count_ + output_count_;
    std::vector<Source> sources(static_cast<size_t>(operand_count));
    for (int k = 0; k < input_count_; ++k) {
        Source& source = sources[k];
        source.computed = inputs_[k].dtype;
        source.is_uniform = inputs_[k].tensor == nullptr;
        if (inputs_[k].tensor != nullptr) {
            source.strided = strided(*inputs_[k].tensor, order, result.rank);
            source.stored = inputs_[k].tensor->dtype;
            source.is_uniform = source.strided.is_uniform();
            // Integers beside halves become halves before anything is computed.
            const bool is_cast = source.computed == Dtype::kFloat32 && is_integral(source.stored);
            source.half = is_half(promoted_) && is_cast ? promoted_ : Dtype::kUnsupported;
        }
    }
    for (int k = 0; k < output_count_; ++k) {
        Source& source = sources[input_count_ + k];
        source.computed = outputs_[k].dtype;
        if (!outputs_[k].tensor->is_null()) {
            source.strided = strided(*outputs_[k].tensor, order, result.rank);
            source.stored = outputs_[k].tensor->dtype;
            const bool is_cast = source.computed == Dtype::kFloat32 && source.stored != promoted_;
            source.half = is_half(promoted_) && is_cast ? promoted_ : Dtype::kUnsupported;
        }
    }
    const int64_t row = result.rank == 0 ? 1 : result.shape[result.rank - 1];

    parallel_for(result.numel, kGrain, [&](int64_t begin, int64_t end) {
        const Buffers buffers(2 * operand_count);
        int64_t coordinates[kMaxRank];
        Block block{};
        block.constants = constants_.data();
        block.coordinates = coordinates;
        block.rank = result.rank;
        for (int k = 0; k < input_count_; ++k) {
            if (sources[k].is_uniform) {
                char* target = buffers.at(2 * k);
                const int64_t count = end - begin < kBlock ? end - begin : kBlock;
                if (inputs_[k].tensor == nullptr) {
                    fill(inputs_[k].number, sources[k].computed, target, count);
                } else {
                    load(sources[k], 0, count, buffers.at(2 * k + 1), target);
                }
                block.inputs[k] = target;
            }
        }
        for (int64_t start = begin; start < end; start += block.count) {
            block.first = start;
            block.count = end - start < kBlock ? end - start : kBlock;
            if (indexed_) {
                // Within one row, so that all coordinates but the innermost are fixed.
                block.count = row - start % row < block.count ? row - start % row : block.count;
                int64_t rest = start;
                for (int64_t d = result.rank; d-- > 0;) {
                    coordinates[d] = rest % result.shape[d];
                    rest /= result.shape[d];
                }
            }
            for (int k = 0; k < input_count_; ++k) {
                if (sources[k].is_uniform) {
                    continue;
                }
                const char* direct = sources[k].strided.contiguous(start, block.count);
                if (direct != nullptr && sources[k].is_direct(direct)) {
                    block.inputs[k] = direct;
                } else {
                    load(sources[k], start, block.count, buffers.at(2 * k + 1), buffers.at(2 * k));
                    block.inputs[k] = buffers.at(2 * k);
                }
            }
            for (int k = 0; k < output_count_; ++k) {
                const int at = input_count_ + k;
                char* direct = sources[at].stored == Dtype::kUnsupported
                                   ? nullptr
                                   : sources[at].strided.contiguous(start, block.count);
                const bool is_direct = direct != nullptr && sources[at].is_direct(direct);
                block.outputs[k] = is_direct ? direct : buffers.at(2 * at);
            }
            loop(block);
            for (int k = 0; k < output_count_; ++k) {
                const int at = input_count_ + k;
                const Source& source = sources[at];
                char* computed = buffers.at(2 * at);
                if (source.stored == Dtype::kUnsupported || block.outputs[k] != computed) {
                    continue;
                }
                if (source.half != Dtype::kUnsupported) {
                    round_to(source.half, computed, block.count);
                }
                char* target = source.strided.contiguous(start, block.count);
                char* stored = target != nullptr ? target : buffers.at(2 * at + 1);
                convert(source.computed, computed, source.stored, stored, block.count);
                if (target == nullptr) {
                    source.strided.scatter(start, block.count, stored);
                }
            }
        }
    });
}

}  // namespace diopi::cpu
