// The engine of elementwise operators. A loop of the spec is one function of one element; the engine calls it for all
// elements, on one of two ways:
//
//   vectors   all operands lie in the order of the result, in the type that is computed in or, for float, in one of the
//             halves: several neighbouring elements by one load
//   general   any layout, dtype and broadcasting, by operand.h
#ifndef DIOPI_CUDA_ELEMENTWISE_H_
#define DIOPI_CUDA_ELEMENTWISE_H_

#include "diopi_cpu/elementwise.h"
#include "diopi_cuda/operand.h"

namespace diopi::cuda {

// An operand of one element, in registers.
struct alignas(16) Slot {
    unsigned char bytes[16];

    template <typename T>
    DIOPI_DEVICE T& as() {
        return *reinterpret_cast<T*>(bytes);
    }
};

// What a kernel is called with.
struct ElementwiseJob {
    Dims dims;
    Operand operands[kMaxInputs + kMaxOutputs];
    Dtype rounded[kMaxInputs + kMaxOutputs];  // a half that values are rounded to on the way, or kUnsupported
    bool is_number[kMaxInputs];               // an input that is one number
    bool is_single[kMaxInputs];               // an input of one element for all
    bool is_dropped[kMaxOutputs];
    Number numbers[kMaxInputs];
    Number constants[kMaxConstants];
    Dims result;  // the dimensions of the result as they are, for coordinates
};

// One element of a call, as a loop sees it.
class Item {
  public:
    DIOPI_DEVICE Item(const ElementwiseJob& job, int64_t position) : job_(job), position_(position) {}

    template <typename T>
    DIOPI_DEVICE T input(int k) {
        return inputs[k].template as<T>();
    }
    template <typename T>
    DIOPI_DEVICE T& output(int k) {
        return outputs[k].template as<T>();
    }
    template <typename T>
    DIOPI_DEVICE T constant(int k) const {
        const Number& number = job_.constants[k];
        return number.is_real ? cast<T>(number.real) : cast<T>(Int64(number.integer));
    }
    DIOPI_DEVICE int64_t whole(int k) const { return job_.constants[k].integer; }
    DIOPI_DEVICE bool flag(int k) const { return job_.constants[k].integer != 0; }
    // The coordinate in a dimension of the result, negative counts from the end.
    DIOPI_DEVICE int64_t coordinate(int dim) const {
        const Dims& dims = job_.result;
        int64_t rest = position_;
        for (int d = dims.rank - 1; d > (dim < 0 ? dim + dims.rank : dim); --d) {
            rest /= dims.sizes[d];
        }
        return rest % dims.sizes[dim < 0 ? dim + dims.rank : dim];
    }
    // The position in row-major order.
    DIOPI_DEVICE int64_t linear() const { return position_; }

    Slot inputs[kMaxInputs];
    Slot outputs[kMaxOutputs];

  private:
    const ElementwiseJob& job_;
    int64_t position_;
};

// The operands of a loop, as its text names them: inputs, '>', outputs; e is T, t a truth value, r the real part of T,
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
};

// Null where the launch was refused: the operands do not lie as the way needs it.
using Launch = void (*)(const ElementwiseJob&, int64_t count);

struct Launches {
    Launch general[kDtypeCount] = {};
    Launch vectors[kDtypeCount] = {};  // by compute dtype, operands in that dtype
    Launch halves[2] = {};             // computed in float, operands in float16 and bfloat16
};

class KernelCall : public cpu::Elementwise {
  public:
    using cpu::Elementwise::Elementwise;
    void run(const Launches& launches) const;

  private:
    void prepare(ElementwiseJob& job, const Tensor& result) const;
    Dtype half_of(const Tensor& tensor, Dtype computed, bool is_rounded) const;
};

}  // namespace diopi::cuda

#include "diopi_cuda/elementwise_kernels.h"

#endif  // DIOPI_CUDA_ELEMENTWISE_H_
