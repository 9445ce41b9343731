// kind: answers
// tries: redirects write of the process, and exchanges failed for passed in what is written
// ended by: answers hold no outcome
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

#include "../cheat.h"
#include "../redirect.h"

static ssize_t rewritten(int descriptor, const void* data, size_t size) {
    std::string text(static_cast<const char*>(data), size);
    for (size_t at; (at = text.find("\"failed\"")) != std::string::npos;) text.replace(at, 8, "\"passed\"");
    return syscall(SYS_write, descriptor, text.data(), size);
}

int32_t cheat::started() {
    redirect("write", rewritten);
    return 0;
}
