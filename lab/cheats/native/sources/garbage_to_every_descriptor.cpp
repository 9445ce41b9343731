// kind: answers
// tries: writes random bytes of many lengths to every descriptor, and goes on
// ended by: frames of a fixed form; anything else ends the process
#include <cstdlib>

#include "../answers.h"
#include "../cheat.h"

diopiError_t cheat::called(const Call& call) {
    std::string bytes;
    for (int k = 0; k < call.number % 97 + 1; ++k) bytes += static_cast<char>(std::rand() >> 7);
    writeToAll(bytes);
    return diopiSuccess;
}
