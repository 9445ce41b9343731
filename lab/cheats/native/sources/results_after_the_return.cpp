// kind: memory
// tries: returns at once, and lets a thread write the results
// sometimes right: true
// ended by: results that count are those at the return; the thread is stopped or finds other memory
#include <vector>

#include "../cheat.h"
#include "../later.h"

diopiError_t cheat::called(const Call& call) {
    const Elements out(call.out);
    const std::vector<char> before = out.read();
    const diopiError_t status = call.right();
    const std::vector<char> results = out.read();
    out.write(before);
    later([out, results] { out.write(results); });
    return status;
}
