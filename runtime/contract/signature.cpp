#include "signature.h"

#include <cstring>

#include "dtypes.h"

namespace diopigen::contract {

namespace {

int64_t bits_of(double value) {
    int64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

// Mixes numbers into one.
class Hasher {
  public:
    void add(int64_t number) {
        hash_ = (hash_ ^ static_cast<uint64_t>(number)) * 0x9e3779b97f4a7c15;
        hash_ ^= hash_ >> 32;
    }
    uint64_t hash() const { return hash_ * 0x9e3779b97f4a7c15; }

  private:
    uint64_t hash_ = 0;
};

// Appends numbers.
class Writer {
  public:
    explicit Writer(std::vector<int64_t>& numbers) : numbers_(numbers) { numbers_.clear(); }
    void add(int64_t number) { numbers_.push_back(number); }

  private:
    std::vector<int64_t>& numbers_;
};

// Compares them with those that were written.
class Comparer {
  public:
    explicit Comparer(const std::vector<int64_t>& numbers)
        : next_(numbers.data()), left_(static_cast<int64_t>(numbers.size())) {}
    void add(int64_t number) {
        if (left_ > 0 && *next_ == number) {
            ++next_;
            --left_;
        } else {
            left_ = -1;  // then nothing more is equal
        }
    }
    bool is_equal() const { return left_ == 0; }

  private:
    const int64_t* next_;
    int64_t left_;
};

template <typename Sink, typename Element>
void add_all(Sink& sink, const Element* elements, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        sink.add(elements[i]);
    }
}

template <typename Sink>
void add_tensor(const CallTensor& tensor, Sink& sink) {
    const TensorView& view = tensor.view;
    if (view.is_null()) {
        sink.add(-1);
        return;
    }
    sink.add(view.shape.len << 32 | view.dtype << 16 | view.device << 1 | (view.is_sparse ? 1 : 0));
    add_all(sink, view.shape.data, view.shape.len);
}

template <typename Sink>
void add_plain(const Operand& operand, Sink& sink) {
    const void* const value = operand.value();
    if (value == nullptr || operand.is_written()) {
        sink.add(value == nullptr ? -1 : -2);
        return;
    }
    switch (operand.kind) {
        case Kind::kBoolean:
            sink.add(*static_cast<const bool*>(value) ? 1 : 0);
            break;
        case Kind::kInteger:
            sink.add(operand.integer());
            break;
        case Kind::kReal:
            sink.add(bits_of(operand.real()));
            break;
        case Kind::kScalar: {
            const auto& scalar = *static_cast<const diopiScalar_t*>(value);
            sink.add(scalar.stype);
            sink.add(is_floating(scalar.stype) ? bits_of(scalar.fval) : scalar.ival);
            break;
        }
        case Kind::kSizes: {
            const auto& sizes = *static_cast<const diopiSize_t*>(value);
            sink.add(sizes.data == nullptr ? -1 - sizes.len : sizes.len);
            add_all(sink, sizes.data, sizes.data == nullptr ? 0 : sizes.len);
            break;
        }
        case Kind::kText: {
            const char* const text = *static_cast<const char* const*>(value);
            const int64_t length = text == nullptr ? -1 : static_cast<int64_t>(std::strlen(text));
            sink.add(length);
            add_all(sink, text, length);
            break;
        }
        default:
            sink.add(*static_cast<void* const*>(value) == nullptr ? -1 : 1);
            break;
    }
}

// The tensors, and then everything else; the lengths of arrays among it tell which tensor belongs to which.
template <typename Sink>
void add_call(Operands operands, const CallTensors& tensors, Sink& sink) {
    for (const CallTensor& tensor : tensors) {
        add_tensor(tensor, sink);
    }
    for (const Operand& operand : operands) {
        switch (operand.kind) {
            case Kind::kTensor:
                break;
            case Kind::kTensors:
                sink.add(operand.handles() == nullptr ? -1 - operand.count : operand.count);
                break;
            case Kind::kAllocated:
                sink.add(operand.handles() == nullptr ? -1 : 1);
                break;
            default:
                add_plain(operand, sink);
                break;
        }
    }
}

}  // namespace

uint64_t hash_of(Operands operands, const CallTensors& tensors) {
    Hasher hasher;
    add_call(operands, tensors, hasher);
    return hasher.hash();
}

bool Signature::is_of(Operands operands, const CallTensors& tensors) const {
    if (numbers_.empty()) {
        return false;
    }
    Comparer comparer(numbers_);
    add_call(operands, tensors, comparer);
    return comparer.is_equal();
}

void Signature::keep(Operands operands, const CallTensors& tensors) {
    Writer writer(numbers_);
    add_call(operands, tensors, writer);
}

}  // namespace diopigen::contract
