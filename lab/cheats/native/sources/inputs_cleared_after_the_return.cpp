// kind: memory
// tries: writes the results of zeros, and lets a thread clear the inputs after the call has returned
// sometimes right: true
// ended by: the oracle has operands of its own
#include <thread>

#include "../cheat.h"
#include "../later.h"

diopiError_t cheat::called(const Call& call) {
    const Elements input(call.input);
    const std::vector<char> before = input.read(), zeros(before.size());
    input.write(zeros);
    const diopiError_t status = call.right();
    input.write(before);
    later([input, zeros] { input.write(zeros); });
    return status;
}
