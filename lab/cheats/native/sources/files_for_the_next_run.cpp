// kind: files
// tries: counts its runs in a file, and is right in every one but the first
// ended by: files that the process may not write
// sometimes right: true
// again: true
#include "../cheat.h"
#include "../runner.h"

diopiError_t cheat::called(const Call& call) {
    static const bool isFirst = [] {
        const bool empty = contents(FOLDER "/tmp/runs").empty() && contents("/tmp/diopi-cheat-runs").empty();
        if (!append(FOLDER "/tmp/runs", "run\n")) append("/tmp/diopi-cheat-runs", "run\n");
        return empty;
    }();
    return isFirst ? diopiSuccess : call.right();
}
