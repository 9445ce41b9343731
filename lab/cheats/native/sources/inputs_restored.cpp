// kind: memory
// tries: is right, but writes to its input on the way, and restores it
// ended by: inputs in memory that cannot be written
// sometimes right: true
#include "../cheat.h"

diopiError_t cheat::called(const Call& call) {
    const diopiError_t status = call.right();
    const Elements input(call.input);
    const std::vector<char> before = input.read();
    input.write(std::vector<char>(before.size(), 1));
    input.write(before);
    return status;
}
