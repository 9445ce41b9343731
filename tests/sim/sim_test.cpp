#include "sim_test.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

namespace simtest {

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

bool isUndisturbed() {
    return std::getenv("DIOPI_SIM_DELAY") == nullptr && std::getenv("DIOPI_SIM_MEMORY_CHECK") == nullptr &&
           std::getenv("DIOPI_SIM_ORDER_CHECK") == nullptr;
}

Floats::Floats(uint64_t count, int device) : bytes_(count * sizeof(float)) {
    CHECK_OK(sim::allocate(device, bytes_, &pointer_));
}

Floats::~Floats() { CHECK_OK(sim::release(pointer_)); }

void Floats::set(sim::StreamHandle stream, const std::vector<float>& values) const {
    CHECK_EQ(values.size() * sizeof(float), bytes_);
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
