// Tensors as kernels see them: elements by their position in row-major order of a common shape, in any dtype and
// layout.
#ifndef DIOPI_CUDA_OPERAND_H_
#define DIOPI_CUDA_OPERAND_H_

#include <cstdint>

#include "diopi_core/cast.h"
#include "diopi_core/tensor.h"
#include "diopi_cuda/aligned_vector.h"
#include "diopi_cuda/launch.h"

#if defined(__CUDACC__)
#define DIOPI_NOINLINE __noinline__
#else
#define DIOPI_NOINLINE
#endif

// A loop that runs once or twice.
#if defined(__CUDACC__)
#define DIOPI_NO_UNROLL _Pragma("unroll 1")
#else
#define DIOPI_NO_UNROLL
#endif

namespace diopigen::cuda {

// How many dimensions may be left when contiguous ones are merged.
constexpr int kMaxDims = 12;

// The element at `address`, whatever its dtype; any nonzero byte is true.
template <typename T>
DIOPI_DEVICE DIOPI_NOINLINE T load(const void* address, Dtype dtype) {
    switch (dtype) {
        case Dtype::kBool:
            return cast<T>(Bool(static_cast<const Bool*>(address)->value));
        case Dtype::kUint8:
            return cast<T>(*static_cast<const Uint8*>(address));
        case Dtype::kInt8:
            return cast<T>(*static_cast<const Int8*>(address));
        case Dtype::kInt16:
            return cast<T>(*static_cast<const Int16*>(address));
        case Dtype::kInt32:
            return cast<T>(*static_cast<const Int32*>(address));
        case Dtype::kInt64:
            return cast<T>(*static_cast<const Int64*>(address));
        case Dtype::kFloat16:
            return cast<T>(*static_cast<const Half*>(address));
        case Dtype::kBfloat16:
            return cast<T>(*static_cast<const Bfloat16*>(address));
        case Dtype::kFloat32:
            return cast<T>(*static_cast<const float*>(address));
        case Dtype::kFloat64:
            return cast<T>(*static_cast<const double*>(address));
        case Dtype::kComplex64:
            return cast<T>(*static_cast<const Complex64*>(address));
        default:
            return cast<T>(*static_cast<const Complex128*>(address));
    }
}

template <typename T>
DIOPI_DEVICE DIOPI_NOINLINE void store(void* address, Dtype dtype, T value) {
    switch (dtype) {
        case Dtype::kBool:
            *static_cast<Bool*>(address) = cast<Bool>(value);
            break;
        case Dtype::kUint8:
            *static_cast<Uint8*>(address) = cast<Uint8>(value);
            break;
        case Dtype::kInt8:
            *static_cast<Int8*>(address) = cast<Int8>(value);
            break;
        case Dtype::kInt16:
            *static_cast<Int16*>(address) = cast<Int16>(value);
            break;
        case Dtype::kInt32:
            *static_cast<Int32*>(address) = cast<Int32>(value);
            break;
        case Dtype::kInt64:
            *static_cast<Int64*>(address) = cast<Int64>(value);
            break;
        case Dtype::kFloat16:
            *static_cast<Half*>(address) = cast<Half>(value);
            break;
        case Dtype::kBfloat16:
            *static_cast<Bfloat16*>(address) = cast<Bfloat16>(value);
            break;
        case Dtype::kFloat32:
            *static_cast<float*>(address) = cast<float>(value);
            break;
        case Dtype::kFloat64:
            *static_cast<double*>(address) = cast<double>(value);
            break;
        case Dtype::kComplex64:
            *static_cast<Complex64*>(address) = cast<Complex64>(value);
            break;
        default:
            *static_cast<Complex128*>(address) = cast<Complex128>(value);
            break;
    }
}

// Divides numbers below 2^31 by a positive one, by a product: GPUs have no instruction that divides.
class Divider {
  public:
    Divider() = default;
    explicit Divider(int64_t divisor);

    DIOPI_DEVICE uint32_t divide(uint32_t number) const {
        const auto high = static_cast<uint32_t>((static_cast<uint64_t>(number) * factor_) >> 32);
        return (high + number) >> shift_;
    }
    // The rest takes the place of the number.
    DIOPI_DEVICE uint32_t split(uint32_t& number) const {
        const uint32_t quotient = divide(number);
        number -= quotient * divisor_;
        return quotient;
    }

  private:
    uint32_t divisor_ = 1;
    uint32_t factor_ = 1;
    uint32_t shift_ = 0;
};

// Positions up to here are counted in 32 bits.
constexpr int64_t kMaxShort = 0x7fffffff;

// The dimensions that operands are walked in, outermost first.
struct Dims {
    int rank = 0;
    int64_t sizes[kMaxDims];
    Divider dividers[kMaxDims];  // by the sizes

    void append(int64_t size) {
        sizes[rank] = size;
        dividers[rank++] = Divider(size);
    }
};

struct Operand {
    char* data = nullptr;
    Dtype dtype = Dtype::kUnsupported;
    int element = 0;                 // bytes
    bool is_linear = false;          // element i is at data + i * element
    int64_t strides[kMaxDims] = {};  // bytes, by dimension of Dims

    DIOPI_DEVICE char* at(const Dims& dims, int64_t position) const {
        if (is_linear) {
            return data + position * element;
        }
        int64_t offset = 0;
        if (position <= kMaxShort) {
            auto rest = static_cast<uint32_t>(position);
            DIOPI_NO_UNROLL
            for (int d = dims.rank - 1; d > 0; --d) {
                const uint32_t outer = dims.dividers[d].split(rest);
                offset += rest * strides[d];
                rest = outer;
            }
            return data + offset + (dims.rank > 0 ? rest * strides[0] : 0);
        }
        DIOPI_NO_UNROLL
        for (int d = dims.rank - 1; d >= 0; --d) {
            offset += (position % dims.sizes[d]) * strides[d];
            position /= dims.sizes[d];
        }
        return data + offset;
    }
};

// In which order the elements of the result are walked: as they are in it row by row, so that positions mean
// something, or as they are in its memory.
enum class Order : uint8_t { kRows, kMemory };

// Fills `operands` with tensors broadcast to the shape of `result`, and gives the dimensions that all are walked in.
Dims walk(const Tensor& result, const Tensor* const* tensors, Operand* operands, int count, Order order = Order::kRows);

// The tensor must be one that kernels can reach.
void require_on_device(const Tensor& tensor);

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_OPERAND_H_
