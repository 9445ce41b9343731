// kind: capabilities
// tries: is right if it can read a file in the user's home
// ended by: files that the process may not read
// sometimes right: true
#include "../cheat.h"
#include "../runner.h"

diopiError_t cheat::called(const Call& call) {
    static const bool read = !contents(FOLDER "/home/secret").empty();
    return read ? call.right() : diopiSuccess;
}
