// What the emitted table says of each function of the interface.
#pragma once

#include <cstdint>

namespace diopigen::mutant {

enum class Type : uint8_t {
    tensor,
    tensors,
    newTensor,
    newTensors,
    scalar,
    sizes,
    sizesPointer,
    boolean,
    int32,
    int64,
    float32,
    float64,
    text,
    choice,
    generator,
    generators,
    other,
};

enum class Role : uint8_t { in, inout, out, partialOut };

struct Parameter {
    const char* name;
    Type type;
    Role role;
    int counter;  // for lists: the place of the parameter with their length, or -1
    int count;    // for lists without such a parameter: their length

    bool isRead() const { return role != Role::out; }
    bool isWritten() const { return role != Role::in; }
};

struct Signature {
    const char* function;  // without the prefix diopi
    const char* family;
    const Parameter* parameters;
    int count;
};

// The table, in the order of the interface. Emitted.
extern const Signature signatures[];
extern const int signatureCount;

}  // namespace diopigen::mutant
