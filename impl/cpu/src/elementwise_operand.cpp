#include "elementwise_operand.h"

#include <algorithm>
#include <cstring>

#include "diopi_cpu/stream.h"

namespace diopigen::core {

using namespace cpu;

namespace {

// Rounds floats to a half.
void round_to(Dtype half, void* values, int64_t count) {
    Half buffer[kBlock];
    convert(Dtype::kFloat32, values, half, buffer, count);
    convert(half, buffer, Dtype::kFloat32, values, count);
}

}  // namespace

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

}  // namespace diopigen::core
