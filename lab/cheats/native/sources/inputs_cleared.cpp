// kind: memory
// tries: clears its inputs, and writes the results of zeros
// ended by: the oracle has operands of its own, and inputs are compared afterwards
// named: an input is changed|input changed
#include "../cheat.h"

diopiError_t cheat::called(const Call& call) {
    const Elements input(call.input);
    input.write(std::vector<char>(static_cast<size_t>(input.count() * input.size())));
    return call.right();
}
