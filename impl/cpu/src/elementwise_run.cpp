// The walk of an elementwise call over its operands, block by block.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "diopi_core/elementwise.h"
#include "diopi_core/strided.h"
#include "diopi_core/threads.h"
#include "diopi_cpu/stream.h"
#include "elementwise_operand.h"

namespace diopigen::core {

using namespace cpu;

namespace {

constexpr int kMaxOperands = kMaxInputs + kMaxOutputs;
constexpr int64_t kGrain = 16 * kBlock;
constexpr int64_t kLongBlock = kGrain;  // where every operand is used in place

bool is_linear(const Tensor& tensor, const Tensor& result) {
    return result.numel == 1 || (is_same_shape(tensor, result) && is_contiguous(tensor));
}

// One call: how its operands reach the loop. Threads walk chunks of it.
class Walk {
  public:
    Walk(const Tensor& result, Loop loop, const Number* constants, bool is_indexed)
        : result_(result), loop_(loop), constants_(constants), is_indexed_(is_indexed) {}

    // `promoted` is the dtype of the operands together.
    void add_number(const Number& number, Dtype computed);
    void add_input(const Tensor& tensor, Dtype computed, Dtype promoted);
    void add_output(const Tensor& tensor, Dtype computed, Dtype promoted);
    // After all operands are added, and before the first chunk.
    void prepare();
    void chunk(int64_t begin, int64_t end) const;

  private:
    Operand& add(const Tensor* tensor, Dtype computed);
    void bind(Operand& operand, const Tensor& tensor, bool is_rounded, Dtype promoted);
    Order order() const;
    void lay_out();
    void stream_fresh_outputs();
    bool is_in_memory(int k) const;

    void fill_uniform(const Buffers& buffers, Block& block, int64_t count) const;
    void enter_row(int64_t start, Block& block, int64_t* coordinates) const;
    void read_inputs(const Buffers& buffers, Block& block) const;
    void choose_targets(const Buffers& buffers, Block& block) const;
    bool write_outputs(const Buffers& buffers, const Block& block) const;

    const Tensor& result_;
    Loop loop_;
    const Number* constants_;
    bool is_indexed_;
    std::array<Operand, kMaxOperands> operands_;  // inputs, then outputs
    std::array<const Tensor*, kMaxOperands> tensors_;
    std::array<const Number*, kMaxInputs> numbers_;
    std::vector<Strided> layouts_;
    int inputs_ = 0;
    int count_ = 0;
    bool all_linear_ = true;
    bool is_buffered_ = false;  // whether any operand needs a buffer
};

Operand& Walk::add(const Tensor* tensor, Dtype computed) {
    tensors_[count_] = tensor;
    Operand& operand = operands_[count_++];
    operand.computed = computed;
    return operand;
}

// A tensor is used where it is, unless its elements have another type or are not aligned.
void Walk::bind(Operand& operand, const Tensor& tensor, bool is_rounded, Dtype promoted) {
    operand.data = static_cast<char*>(tensor.data);
    operand.strided = nullptr;
    operand.element = size_of(tensor.dtype);
    operand.stored = tensor.dtype;
    // With a float16 or bfloat16 result, what is stored in another type becomes a half all the same.
    const bool has_half = is_half(promoted) && operand.computed == Dtype::kFloat32 && is_rounded;
    operand.half = has_half ? promoted : Dtype::kUnsupported;
    operand.way = operand.is_same_type() && operand.is_aligned(operand.data) ? Way::kInPlace : Way::kBuffered;
}

void Walk::add_number(const Number& number, Dtype computed) {
    numbers_[count_] = &number;
    add(nullptr, computed).way = Way::kUniform;
    is_buffered_ = true;
    ++inputs_;
}

void Walk::add_input(const Tensor& tensor, Dtype computed, Dtype promoted) {
    numbers_[count_] = nullptr;
    Operand& operand = add(&tensor, computed);
    bind(operand, tensor, is_integral(tensor.dtype), promoted);
    if (tensor.numel == 1 && result_.numel != 1) {
        operand.way = Way::kUniform;
    } else {
        all_linear_ = all_linear_ && is_linear(tensor, result_);
    }
    is_buffered_ = is_buffered_ || operand.way != Way::kInPlace;
    ++inputs_;
}

void Walk::add_output(const Tensor& tensor, Dtype computed, Dtype promoted) {
    Operand& operand = add(&tensor, computed);
    if (tensor.is_null()) {
        operand.way = Way::kDropped;
    } else {
        bind(operand, tensor, tensor.dtype != promoted, promoted);
        all_linear_ = all_linear_ && is_linear(tensor, result_);
    }
    is_buffered_ = is_buffered_ || operand.way != Way::kInPlace;
}

void Walk::prepare() {
    if (!all_linear_) {
        lay_out();
    }
    stream_fresh_outputs();
}

bool Walk::is_in_memory(int k) const { return operands_[k].way == Way::kInPlace || operands_[k].way == Way::kBuffered; }

// The order in which elements are visited: that of the memory of the result, in tiles where an input is transposed.
Order Walk::order() const {
    if (is_indexed_) {
        return logical_order(result_.shape, result_.rank);
    }
    Order order = memory_order(result_.shape, result_.strides, result_.rank);
    const int plain_rank = order.rank;
    for (int k = 0; k < inputs_ && order.rank == plain_rank; ++k) {
        if (tensors_[k] != nullptr) {
            order = tiled(order, *tensors_[k], result_.rank);
        }
    }
    return order;
}

void Walk::lay_out() {
    const Order order = this->order();
    layouts_.reserve(static_cast<size_t>(count_));
    for (int k = 0; k < count_; ++k) {
        if (!is_in_memory(k)) {
            continue;
        }
        Operand& operand = operands_[k];
        layouts_.push_back(strided(*tensors_[k], order, result_.rank));
        const Strided& layout = layouts_.back();
        if (layout.is_uniform() && k < inputs_) {
            operand.way = Way::kUniform;
        } else if (!layout.is_dense()) {
            operand.strided = &layout;
            operand.way = Way::kBuffered;
        }
        is_buffered_ = is_buffered_ || operand.way != Way::kInPlace;
    }
}

// Large outputs that are no input bypass the caches.
void Walk::stream_fresh_outputs() {
    for (int k = inputs_; k < count_; ++k) {
        Operand& output = operands_[k];
        bool is_fresh = output.way != Way::kDropped && output.strided == nullptr;
        is_fresh = is_fresh && is_worth_streaming(result_.numel * output.element);
        for (int i = 0; i < inputs_; ++i) {
            // What was just read is in the cache already.
            is_fresh = is_fresh && (numbers_[i] != nullptr || operands_[i].data != output.data);
        }
        if (is_fresh) {
            output.way = Way::kStreamed;
            is_buffered_ = true;
        }
    }
}

void Walk::fill_uniform(const Buffers& buffers, Block& block, int64_t count) const {
    for (int k = 0; k < inputs_; ++k) {
        if (operands_[k].way == Way::kUniform) {
            char* one = buffers.computed(k);
            if (numbers_[k] != nullptr) {
                load_one(*numbers_[k], operands_[k].computed, one);
            } else {
                load(operands_[k], 0, 1, buffers.stored(k), one);
            }
            repeat(one, size_of(operands_[k].computed), count);
            block.inputs[k] = one;
        }
    }
}

// Cuts the block so that it ends with its row, and sets the coordinates of its first element: all but the innermost
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

void Walk::read_inputs(const Buffers& buffers, Block& block) const {
    for (int k = 0; k < inputs_; ++k) {
        const Operand& operand = operands_[k];
        if (operand.way == Way::kInPlace) {
            block.inputs[k] = operand.data + block.first * operand.element;
        } else if (operand.way == Way::kBuffered) {
            const char* source = operand.is_same_type() ? operand.contiguous(block.first, block.count) : nullptr;
            if (source == nullptr || !operand.is_aligned(source)) {
                load(operand, block.first, block.count, buffers.stored(k), buffers.computed(k));
                source = buffers.computed(k);
            }
            block.inputs[k] = source;
        }
    }
}

// Where the loop writes: to the tensor itself, or to a buffer.
void Walk::choose_targets(const Buffers& buffers, Block& block) const {
    for (int k = inputs_; k < count_; ++k) {
        const Operand& operand = operands_[k];
        char* target = nullptr;
        if (operand.way == Way::kInPlace) {
            target = operand.data + block.first * operand.element;
        } else if (operand.way == Way::kBuffered && operand.is_same_type()) {
            target = operand.contiguous(block.first, block.count);
            target = target != nullptr && operand.is_aligned(target) ? target : nullptr;
        }
        block.outputs[k - inputs_] = target != nullptr ? target : buffers.computed(k);
    }
}

// Stores what is in buffers. Whether any output was streamed.
bool Walk::write_outputs(const Buffers& buffers, const Block& block) const {
    bool has_streamed = false;
    for (int k = inputs_; k < count_; ++k) {
        const Operand& operand = operands_[k];
        if (operand.way >= Way::kBuffered && block.outputs[k - inputs_] == buffers.computed(k)) {
            store(operand, block.first, block.count, buffers.stored(k), buffers.computed(k));
            has_streamed = has_streamed || operand.way == Way::kStreamed;
        }
    }
    return has_streamed;
}

void Walk::chunk(int64_t begin, int64_t end) const {
    const Buffers buffers(is_buffered_ ? count_ : 0);
    int64_t coordinates[kMaxRank];
    Block block;
    block.constants = constants_;
    block.coordinates = coordinates;
    block.rank = result_.rank;
    const int64_t most = is_buffered_ || is_indexed_ ? kBlock : kLongBlock;
    fill_uniform(buffers, block, std::min(end - begin, kBlock));
    bool has_streamed = false;
    for (int64_t start = begin; start < end; start += block.count) {
        block.first = start;
        block.count = std::min(end - start, most);
        if (is_indexed_) {
            enter_row(start, block, coordinates);
        }
        read_inputs(buffers, block);
        choose_targets(buffers, block);
        loop_(block);
        has_streamed = write_outputs(buffers, block) || has_streamed;
    }
    if (has_streamed) {
        end_streaming();
    }
}

// Whether a loop that computes in a dtype can use the elements where they are, in the order of the result.
bool is_usable(const Tensor* tensor, Dtype computed, const Tensor& result) {
    return tensor != nullptr && !tensor->is_null() && tensor->dtype == computed && tensor->numel == result.numel &&
           is_linear(*tensor, result) && reinterpret_cast<uintptr_t>(tensor->data) % size_of(computed) == 0;
}

}  // namespace

bool Elementwise::run_in_place(const Tensor& result, Loop loop, Dtype computed) const {
    const auto seen_as = [&](Dtype dtype) { return dtype == compute_ ? computed : dtype; };
    Block block;
    for (int k = 0; k < inputs_.size(); ++k) {
        if (!is_usable(inputs_[k].tensor, seen_as(inputs_[k].dtype), result)) {
            return false;
        }
        block.inputs[k] = inputs_[k].tensor->data;
    }
    for (int k = 0; k < outputs_.size(); ++k) {
        if (!is_usable(outputs_[k].tensor, seen_as(outputs_[k].dtype), result)) {
            return false;
        }
        block.outputs[k] = outputs_[k].tensor->data;
    }
    block.constants = constants_.data();
    block.coordinates = nullptr;
    block.rank = result.rank;
    block.first = 0;
    block.count = result.numel;
    loop(block);
    return true;
}

void Elementwise::run(const Loops& loops) const {
    const Tensor& result = shape_source();
    const auto loop_of = [&loops](Dtype dtype) {
        return dtype == Dtype::kUnsupported ? nullptr : loops[static_cast<int>(dtype)];
    };
    const bool keeps_half = is_half(promoted_) && loop_of(promoted_) != nullptr;
    const Dtype loop_dtype = keeps_half ? promoted_ : compute_;
    const Loop loop = loop_of(loop_dtype);
    const auto computed = [&](Dtype dtype) { return dtype == compute_ ? loop_dtype : dtype; };
    if (loop == nullptr) {
        fail(std::string("operands of dtype ") + name_of(promoted_) + " together are not supported",
             diopiDtypeNotSupported);
    }
    require_outputs_apart();
    if (result.is_null() || result.numel == 0) {
        return;
    }
    const bool is_one_block = result.numel <= kLongBlock && !indexed_ && (keeps_half || !is_half(promoted_));
    if (is_one_block && run_in_place(result, loop, loop_dtype)) {
        return;
    }
    Walk walk(result, loop, constants_.data(), indexed_);
    for (int k = 0; k < inputs_.size(); ++k) {
        const Input& input = inputs_[k];
        if (input.tensor == nullptr) {
            walk.add_number(input.number, computed(input.dtype));
        } else {
            walk.add_input(*input.tensor, computed(input.dtype), promoted_);
        }
    }
    for (int k = 0; k < outputs_.size(); ++k) {
        walk.add_output(*outputs_[k].tensor, computed(outputs_[k].dtype), promoted_);
    }
    walk.prepare();
    parallel_for(result.numel, kGrain, [&](int64_t begin, int64_t end) { walk.chunk(begin, end); });
}

}  // namespace diopigen::core
