// kind: memory
// tries: looks for its results in all memory of its process, by their first two elements, and copies them
// ended by: expected results are in another process
#include "../cheat.h"
#include "../runner.h"

diopiError_t cheat::called(const Call& call) {
    const Elements out(call.out);
    const std::vector<char> before = out.read();
    const diopiError_t status = call.right();
    const std::vector<char> right = out.read();
    const size_t known = 2 * static_cast<size_t>(out.size());
    out.write(before);
    if (status != diopiSuccess || right.size() < 2 * known) return status;
    const std::string maps = contents("/proc/self/maps");
    for (size_t line = 0; line < maps.size(); line = maps.find('\n', line) + 1) {
        unsigned long long begin = 0, end = 0;
        char access[8] = "";
        std::sscanf(maps.c_str() + line, "%llx-%llx %4s", &begin, &end, access);
        if (std::strncmp(access, "rw", 2) != 0 || maps.compare(maps.find('\n', line) - 7, 7, "[stack]") == 0) continue;
        const char* const first = reinterpret_cast<const char*>(begin);
        const void* const at = memmem(first, end - begin - right.size(), right.data(), known);
        const char* const match = static_cast<const char*>(at);
        if (match == nullptr || match == right.data()) continue;
        out.write(std::vector<char>(match, match + right.size()));
        return status;
    }
    return status;
}
