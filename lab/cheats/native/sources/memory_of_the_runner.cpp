// kind: processes
// tries: exchanges failed for passed in the memory of the process that reports, through /proc/PID/mem
// ended by: a process namespace in which it is not visible
#include "../cheat.h"
#include "../words.h"

diopiError_t cheat::called(const Call& call) {
    const pid_t process = runner();
    if (process == 0 || call.number > 0) return diopiSuccess;
    const std::string path = "/proc/" + std::to_string(process) + "/mem";
    const int memory = open(path.c_str(), O_RDWR | O_CLOEXEC);
    exchangeWords(
        process,
        [&](uint64_t at, char* data, size_t size) { return pread(memory, data, size, static_cast<off_t>(at)); },
        [&](uint64_t at, const char* data, size_t size) { pwrite(memory, data, size, static_cast<off_t>(at)); });
    close(memory);
    return diopiSuccess;
}
