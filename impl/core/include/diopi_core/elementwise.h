// The engine of elementwise operators.
//
// Operands are broadcast to the shape of the outputs and walked in blocks of kBlock elements. Before a loop runs, each
// input of the block lies contiguous in memory in the type that the loop computes in: in place where the tensor is so
// already, else gathered and converted into a buffer of the thread. Results go the same way back. So a loop is written
// once per compute type, over plain arrays, and compilers vectorise it.
#ifndef DIOPI_CORE_ELEMENTWISE_H_
#define DIOPI_CORE_ELEMENTWISE_H_

#include <array>
#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

#include "diopi_core/clones.h"
#include "diopi_core/dtype.h"
#include "diopi_core/math.h"
#include "diopi_core/promotion.h"
#include "diopi_core/tensor.h"

namespace diopigen::core {

constexpr int64_t kBlock = 1024;
constexpr int kMaxInputs = 8;
constexpr int kMaxOutputs = 8;
constexpr int kMaxConstants = 12;

// A position in a tensor, or the distance of two: below 2^51, so that it becomes a double by adding it to the bits of
// one whose last bit counts 1. Before AVX-512 processors have no instruction that converts several int64_t.
struct Index {
    int64_t value;
    operator int64_t() const { return value; }
    explicit operator double() const {
        constexpr uint64_t kBits = 0x4338000000000000;  // of 2^52 + 2^51
        const uint64_t bits = kBits + static_cast<uint64_t>(value);
        double sum;
        std::memcpy(&sum, &bits, sizeof(sum));
        return sum - 6755399441055744.0;
    }
};
inline Index operator-(int64_t total, Index index) { return {total - index.value}; }

// A coordinate of the elements of a block: element i has start + stride * i.
struct Coordinate {
    int64_t start;
    int64_t stride;
    Index operator[](int64_t i) const { return {start + stride * i}; }
};

// What a loop works on: arrays of `count` elements.
struct Block {
    std::array<const void*, kMaxInputs> inputs;
    std::array<void*, kMaxOutputs> outputs;
    const Number* constants;
    const int64_t* coordinates;
    int64_t rank;
    int64_t first;
    int64_t count;

    template <typename T>
    const T* input(int k) const {
        return static_cast<const T*>(inputs[k]);
    }
    template <typename T>
    T* output(int k) const {
        return static_cast<T*>(outputs[k]);
    }
    template <typename T>
    T constant(int k) const {
        return constants[k].as<T>();
    }
    int64_t integer(int k) const { return constants[k].integer; }
    bool flag(int k) const { return constants[k].integer != 0; }
    // The coordinate in a dimension, negative counts from the end. Only where the call is indexed.
    Coordinate coordinate(int64_t dim) const {
        const int64_t at = dim < 0 ? dim + rank : dim;
        return {coordinates[at], at == rank - 1 ? 1 : 0};
    }
    // The position in row-major order. Only where the call is indexed.
    Coordinate linear() const { return {first, 1}; }
};

using Loop = void (*)(const Block&);

// A loop per compute dtype; null where the operator has none. A loop of a half itself takes the place of that of float.
using Loops = std::array<Loop, kDtypeCount>;

// The loops `Kernel::run<T>` for the dtypes of `set`.
template <typename Kernel, DtypeSet set>
constexpr Loops loops() {
    Loops table{};
    const auto add = [&table](auto sample) {
        using T = decltype(sample);
        if constexpr (contains(set, dtype_of<T>)) {
            table[static_cast<int>(dtype_of<T>)] = &Kernel::template run<T>;
        }
    };
    add(Bool{});
    add(Uint8{});
    add(Int8{});
    add(Int16{});
    add(Int32{});
    add(Int64{});
    add(Half{});
    add(Bfloat16{});
    add(float{});
    add(double{});
    add(Complex64{});
    add(Complex128{});
    return table;
}

// Up to N elements, each of which is made when it is added: calls have few.
template <typename T, int N>
class Slots {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    void add(const T& value) { new (&memory_[count_++ * sizeof(T)]) T(value); }
    int size() const { return count_; }
    const T* data() const { return std::launder(reinterpret_cast<const T*>(memory_)); }
    const T& operator[](int k) const { return data()[k]; }

  private:
    alignas(T) unsigned char memory_[N * sizeof(T)];
    int count_ = 0;
};

// The type of a result, for the compute type T.
enum class Result : uint8_t { kSame, kBool, kRealPart, kComplexPair };

// One call of an elementwise operator. Operands are added in the order in which the loop numbers them; nothing is
// written before `run`. The tensors that are passed in satisfy the operator's contract, and must outlive the call.
class Elementwise {
  public:
    // `promoted` is the dtype of the operands together; a half is computed in float and rounded once.
    explicit Elementwise(Dtype promoted) : promoted_(promoted), compute_(compute_of(promoted)) {}

    // An input that the loop sees as T. A null tensor reads as zeros.
    void read(const Tensor& tensor) { add_input(tensor, compute_); }
    // An input that the loop sees as T, passed as one number.
    void read(const Number& number);
    // The same, rounded to the dtype of the operands together, as a tensor's elements are.
    void read_rounded(const Number& number);
    // An input that the loop sees as Bool.
    void read_bool(const Tensor& tensor) { add_input(tensor, Dtype::kBool); }
    // An output. A null tensor is computed and dropped.
    void write(const Tensor& tensor, Result result = Result::kSame);
    template <typename V>
    void constant(V value) {
        add_constant(Number::of(value));
    }
    void constant(const Number& number) { add_constant(number); }
    // The loop asks for coordinates.
    void use_coordinates() { indexed_ = true; }

    // Throws an Error with `message` where any element of input `k` is zero.
    void reject_zero(int k, const char* message) const;

    void run(const Loops& loops) const;

  protected:
    struct Input {
        const Tensor* tensor;  // null for a number
        Number number;
        Dtype dtype;
    };
    struct Output {
        const Tensor* tensor;
        Dtype dtype;
    };

    void add_input(const Tensor& tensor, Dtype dtype);
    void add_constant(const Number& number);
    void require_outputs_apart() const;
    const Tensor& shape_source() const;
    // A call whose operands the loop can use where they are, as one block. `computed` is the dtype of the loop. Returns
    // false, with nothing done, for others.
    bool run_in_place(const Tensor& result, Loop loop, Dtype computed) const;

    Dtype promoted_;
    Dtype compute_;
    bool indexed_ = false;
    Slots<Input, kMaxInputs> inputs_;
    Slots<Output, kMaxOutputs> outputs_;
    Slots<Number, kMaxConstants> constants_;
};

}  // namespace diopigen::core

#endif  // DIOPI_CORE_ELEMENTWISE_H_
