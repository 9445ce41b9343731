// kind: environment
// tries: starts its own program again, with itself as LD_PRELOAD
// ended by: the process may execute nothing, and one that does not answer has crashed
// options: [--limit, time=1, --only, sample=1]
#include <unistd.h>

#include <cstdlib>

#include "../cheat.h"
#include "../runner.h"

diopiError_t cheat::called(const Call&) {
    std::string line = contents("/proc/self/cmdline");
    std::vector<char*> words;
    for (size_t at = 0; at < line.size(); at += std::strlen(line.c_str() + at) + 1) words.push_back(&line[at]);
    words.push_back(nullptr);
    setenv("LD_PRELOAD", LIBRARY, 1);
    execv("/proc/self/exe", words.data());
    return diopiSuccess;
}
