// How the elements of an operand of an elementwise call reach its loop, and leave it.
#ifndef DIOPI_CPU_ELEMENTWISE_OPERAND_H_
#define DIOPI_CPU_ELEMENTWISE_OPERAND_H_

#include <cstdint>
#include <memory>
#include <new>

#include "diopi_core/elementwise.h"
#include "diopi_core/strided.h"

namespace diopigen::core {

constexpr int64_t kBufferBytes = kBlock * 16;  // a block of the largest dtype

// Memory of one thread for the buffers of a call, reused from call to call. Each operand has two blocks.
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
    kDropped,   // an output that the caller left out
    kUniform,   // one value for all elements: a block of it is filled once
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

// Reads `count` elements from `start` into the block `computed`, in the type that the loop computes in; `stored` is the
// operand's other block.
void load(const Operand& operand, int64_t start, int64_t count, char* stored, char* computed);

// The inverse of `load`.
void store(const Operand& operand, int64_t start, int64_t count, char* stored, char* computed);

// Makes `count` elements of the first one.
void repeat(char* data, int64_t element, int64_t count);

void load_one(const Number& number, Dtype dtype, void* target);

}  // namespace diopigen::core

#endif  // DIOPI_CPU_ELEMENTWISE_OPERAND_H_
