// The engine of elementwise operators. A loop of the spec is one function of one element; the engine calls it for all
// elements, on one of two ways:
//
//   vectors   all operands are in the type that is computed in or, for float, in one of the halves: a thread takes
//             several neighbours of the innermost dimension, by one load from an operand that is laid out so
//             (elementwise_vectors.h)
//   general   any mixture of dtypes, an element to a thread (elementwise_general.h)
//
// Layouts and broadcasting are the same to both.
#ifndef DIOPI_CUDA_ELEMENTWISE_H_
#define DIOPI_CUDA_ELEMENTWISE_H_

#include "diopi_core/elementwise.h"
#include "diopi_cuda/operand.h"

namespace diopigen::cuda {

// An operand of one element, in registers.
struct alignas(16) Slot {
    unsigned char bytes[16];

    template <typename T>
    DIOPI_HOST_DEVICE T& as() {
        return *reinterpret_cast<T*>(bytes);
    }
    template <typename T>
    DIOPI_HOST_DEVICE const T& as() const {
        return *reinterpret_cast<const T*>(bytes);
    }
};

class KernelList;

// A call as the host has worked it out, from which kernels are filled. Inputs come first, then outputs.
struct ElementwiseJob {
    static constexpr int kMaxOperands = kMaxInputs + kMaxOutputs;
    Dims dims;
    Operand operands[kMaxOperands];          // without data: a number, or an output that is dropped
    Dtype rounded[kMaxOperands];             // a half that values are rounded to on the way, or kUnsupported
    const Tensor* on_host[kMaxInputs] = {};  // a number as it is on the host
    Number numbers[kMaxInputs];
    Number constants[kMaxConstants];
    Dims result;                 // the dimensions of the result as they are, for coordinates
    KernelList* list = nullptr;  // that kernels are appended to in place of a launch
};

// What is common to all elements of a call.
struct Common {
    Slot constants[kMaxConstants];  // as T
    int64_t integers[kMaxConstants];
    Dims result;
};

// One element of a call, as a loop sees it.
class Item {
  public:
    DIOPI_DEVICE Item(const Common& common, int64_t position) : common_(common), position_(position) {}

    template <typename T>
    DIOPI_DEVICE T input(int k) {
        return inputs[k].template as<T>();
    }
    template <typename T>
    DIOPI_DEVICE T& output(int k) {
        return outputs[k].template as<T>();
    }
    // T is what is computed in.
    template <typename T>
    DIOPI_DEVICE T constant(int k) const {
        return common_.constants[k].template as<T>();
    }
    DIOPI_DEVICE int64_t integer(int k) const { return common_.integers[k]; }
    DIOPI_DEVICE bool flag(int k) const { return common_.integers[k] != 0; }
    // The coordinate in a dimension of the result, negative counts from the end.
    DIOPI_DEVICE int64_t coordinate(int dim) const {
        const Dims& dims = common_.result;
        const int last = dim < 0 ? dim + dims.rank : dim;
        if (position_ <= kMaxShort) {
            auto rest = static_cast<uint32_t>(position_);
            for (int d = dims.rank - 1; d > last; --d) {
                rest = dims.dividers[d].divide(rest);
            }
            dims.dividers[last].split(rest);
            return rest;
        }
        int64_t rest = position_;
        for (int d = dims.rank - 1; d > last; --d) {
            rest /= dims.sizes[d];
        }
        return rest % dims.sizes[last];
    }
    // The position in row-major order.
    DIOPI_DEVICE int64_t linear() const { return position_; }

    Slot inputs[kMaxInputs];
    Slot outputs[kMaxOutputs];

  private:
    const Common& common_;
    int64_t position_;
};

// The operands of a loop, as its text names them: inputs, '>', outputs; e is T, t a bool, r the real part of T,
// p a complex pair of T.
struct Signature {
    int inputs = 0;
    int outputs = 0;
    char kinds[kMaxInputs + kMaxOutputs] = {};

    constexpr explicit Signature(const char* text) {
        bool is_output = false;
        for (; *text != '\0'; ++text) {
            if (*text == '>') {
                is_output = true;
            } else {
                kinds[inputs + outputs] = *text;
                ++(is_output ? outputs : inputs);
            }
        }
    }
    // The signature as a number: inputs and outputs by 4 bits, kinds by 2.
    constexpr uint64_t code() const {
        uint64_t number = 0;
        for (int k = inputs + outputs - 1; k >= 0; --k) {
            uint64_t kind = 0;
            while (kLetters[kind] != kinds[k]) {
                ++kind;
            }
            number = number << 2 | kind;
        }
        return number << 8 | static_cast<uint64_t>(outputs) << 4 | static_cast<uint64_t>(inputs);
    }
    static constexpr char kLetters[] = "etrp";
};

// A signature as a type: what depends on it and on dtypes alone is instantiated once for all loops of the same
// signature.
template <uint64_t code>
struct Kinds {
    static constexpr int kInputs = code & 15;
    static constexpr int kOutputs = code >> 4 & 15;
    static constexpr char at(int k) { return Signature::kLetters[code >> (8 + 2 * k) & 3]; }
};
template <typename Loop>
using KindsOf = Kinds<Loop::kSignature.code()>;

using Launch = void (*)(const ElementwiseJob&, int64_t count);

struct Launches {
    Launch general[core::kDtypeCount] = {};  // by compute dtype
    Launch vectors[core::kDtypeCount] = {};  // operands in the compute dtype
    Launch halves[2] = {};                   // computed in float, operands in float16 and bfloat16
};

class KernelCall : public core::Elementwise {
  public:
    using core::Elementwise::Elementwise;
    void run(const Launches& launches) const;
    // When the list is launched (`list_launches`). Operands must outlive that.
    void run(const Launches& launches, KernelList& list) const;

  private:
    void run_as(const Launches& launches, KernelList* list) const;
    void prepare(ElementwiseJob& job, const Tensor& result) const;
    Dtype half_of(const Tensor& tensor, Dtype computed, bool is_rounded) const;
    Launch vectors_for(const Launches& launches, const ElementwiseJob& job, int64_t count) const;
};

}  // namespace diopigen::cuda

#include "diopi_cuda/elementwise_kernels.h"

#endif  // DIOPI_CUDA_ELEMENTWISE_H_
