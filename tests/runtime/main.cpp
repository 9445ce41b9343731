// Runs the tests of one group (or, with --list, names the groups). Every test starts with the fake device registered
// and must leave nothing behind: no memory, no stream, nothing freed while work was pending.
#include <cstdio>
#include <cstring>
#include <mutex>
#include <set>

#include "check.h"
#include "fake_device.h"

namespace check {
namespace {

std::mutex reportMutex;
int checkCount = 0;
int failureCount = 0;

}  // namespace

std::vector<Test>& tests() {
    static std::vector<Test> all;
    return all;
}

void report(bool passed, const char* file, int line, const std::string& what) {
    const std::lock_guard<std::mutex> lock(reportMutex);
    ++checkCount;
    if (!passed) {
        ++failureCount;
        std::printf("%s:%d: %s\n", file, line, what.c_str());
    }
}

static void run(const Test& test) {
    const int failuresBefore = failureCount;
    fake::reset();
    fake::registerAll();
    test.body();
    uint64_t hostBytes = 0;
    uint64_t deviceBytes = 0;
    CHECK_OK(diopiHostGetLiveBytes(diopi_host, &hostBytes));
    CHECK_OK(diopiHostGetLiveBytes(diopi_device, &deviceBytes));
    CHECK_EQUAL(hostBytes, 0u);
    CHECK_EQUAL(deviceBytes, 0u);
    CHECK_EQUAL(fake::liveAllocations(), 0);
    CHECK_EQUAL(fake::liveStreams(), 0);
    CHECK_EQUAL(fake::tooEarly(), 0);
    std::printf("%s %s.%s\n", failureCount == failuresBefore ? "ok    " : "FAILED", test.group, test.name);
}

static int runGroup(const char* group) {
    for (const Test& test : tests()) {
        if (std::strcmp(test.group, group) == 0) {
            run(test);
        }
    }
    std::printf("%d checks, %d failed\n", checkCount, failureCount);
    return checkCount > 0 && failureCount == 0 ? 0 : 1;
}

static int listGroups() {
    std::set<std::string> groups;
    for (const Test& test : tests()) {
        groups.insert(test.group);
    }
    for (const std::string& group : groups) {
        std::printf("%s\n", group.c_str());
    }
    return 0;
}

}  // namespace check

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s GROUP | --list\n", argv[0]);
        return 2;
    }
    return std::strcmp(argv[1], "--list") == 0 ? check::listGroups() : check::runGroup(argv[1]);
}
