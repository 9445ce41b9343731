// Runs one case, or names all with --list.
#include "sim_test.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>
#include <utility>

namespace simtest {
namespace {

std::mutex reportMutex;
int checkCount = 0;
int failureCount = 0;

std::vector<std::pair<const char*, void (*)()>>& cases() {
    static std::vector<std::pair<const char*, void (*)()>> all;
    return all;
}

}  // namespace

Registration::Registration(const char* name, void (*body)()) { cases().emplace_back(name, body); }

void report(bool passed, const char* file, int line, const std::string& what) {
    const std::lock_guard<std::mutex> lock(reportMutex);
    ++checkCount;
    if (!passed) {
        ++failureCount;
        std::printf("%s:%d: %s\n", file, line, what.c_str());
    }
}

std::string withoutAddresses(const std::string& text) {
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t address = text.find("0x", at);
        if (address == std::string::npos) {
            return result + text.substr(at);
        }
        result += text.substr(at, address - at) + "0x#";
        at = std::min(text.find_first_not_of("0123456789abcdef", address + 2), text.size());
    }
    return result;
}

Floats::Floats(uint64_t count, int device) : bytes_(count * sizeof(float)) {
    CHECK_OK(sim::allocate(device, bytes_, &pointer_));
}

Floats::~Floats() { CHECK_OK(sim::release(pointer_)); }

void Floats::set(sim::StreamHandle stream, const std::vector<float>& values) const {
    CHECK_EQUAL(values.size() * sizeof(float), bytes_);
    CHECK_OK(sim::copyToDevice(stream, pointer_, values.data(), bytes_));
    CHECK_OK(sim::synchronize(stream));
}

std::vector<float> Floats::values(sim::StreamHandle stream) const {
    std::vector<float> found(bytes_ / sizeof(float));
    CHECK_OK(sim::copyToHost(stream, found.data(), pointer_, bytes_));
    CHECK_OK(sim::synchronize(stream));
    return found;
}

Stream::Stream(int device) { CHECK_OK(sim::createStream(device, &handle_)); }

Stream::~Stream() { CHECK_OK(sim::destroyStream(handle_)); }

Event::Event() { CHECK_OK(sim::createEvent(&handle_)); }

Event::~Event() { CHECK_OK(sim::destroyEvent(handle_)); }

sim::Status addScalar(sim::StreamHandle stream, const Floats& to, const Floats& from, float amount) {
    const uint64_t count = to.bytes() / sizeof(float);
    return sim::launch(stream, "diopiAddScalar",
                       {sim::reads(from.get(), from.bytes()), sim::writes(to.get(), to.bytes())},
                       [=](const sim::Kernel& kernel) {
                           const float* const source = kernel.in<float>(0);
                           float* const target = kernel.out<float>(1);
                           for (uint64_t i = 0; i < count; ++i) {
                               target[i] = source[i] + amount;
                           }
                       });
}

void sleepMilliseconds(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

}  // namespace simtest

int main(int argc, char** argv) {
    if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
        for (const auto& entry : simtest::cases()) {
            std::printf("%s\n", entry.first);
        }
        return 0;
    }
    for (const auto& [name, body] : simtest::cases()) {
        if (argc == 2 && std::strcmp(argv[1], name) == 0) {
            body();
            std::printf("%d checks, %d failed\n", simtest::checkCount, simtest::failureCount);
            return simtest::failureCount == 0 && simtest::checkCount > 0 ? 0 : 1;
        }
    }
    std::fprintf(stderr, "usage: %s CASE | --list\n", argv[0]);
    return 2;
}
