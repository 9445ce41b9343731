#include <diopigen_sim/chip.h>
#include <diopigen_sim/launch.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "launch_compiled.h"
#include "system.h"
#include "trace_log.h"

namespace diopigen::sim {

namespace {

Status launchOn(StreamHandle stream, const char* name, std::vector<Buffer> buffers, KernelFunction kernel,
                uint64_t mostAtOnce, bool isCompiled, const Attempt& attempt = nullptr) {
    if (name == nullptr || *name == '\0' || !kernel) {
        return {Code::invalidArgument, "launch: no name, or no kernel"};
    }
    System* system = nullptr;
    std::shared_ptr<Queue> queue;
    Status status = System::open(stream, &system, &queue);
    if (!status.ok()) {
        return status;
    }
    if (const Chip* const chip = system->chip; chip != nullptr && !isCompiled) {
        status = kernels::admits(*chip, name, buffers.data(), buffers.size());
        if (!status.ok()) {
            return status;
        }
    }
    Ranges ranges(buffers.size());
    kernels::SmallVector<void*, 8> addresses(buffers.size());
    uint64_t bytes = 0;
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        const bool write = buffers[i].access != Access::read;
        const auto what = [&] { return std::string(name) + ": buffer " + std::to_string(i); };
        status = system->resolve(queue->device(), buffers[i].pointer, buffers[i].bytes, write, &ranges[i], what);
        if (!status.ok()) {
            return status;
        }
        addresses[i] = ranges[i].address;
        bytes += buffers[i].bytes;
    }
    const auto here = [&] { kernel(Kernel(addresses, buffers)); };
    if (mostAtOnce > 0 && bytes <= mostAtOnce && system->runAtOnce(queue.get(), name, bytes, std::cref(here))) {
        return {};
    }
    // The log has one entry for a kernel.
    if (attempt && bytes <= kSmall && !keepsLog()) {
        bool isDone = true;  // and stays so where it fails
        const auto attempted = [&] { isDone = attempt(Kernel(addresses, buffers)); };
        if (system->runAtOnce(queue.get(), name, bytes, std::cref(attempted)) && isDone) {
            return {};
        }
    }
    auto run = [addresses = std::move(addresses), buffers = std::move(buffers), kernel = std::move(kernel)] {
        kernel(Kernel(addresses, buffers));
    };
    return system->push(queue, ranges, {name, bytes, std::move(run)});
}

}  // namespace

Status launch(StreamHandle stream, const char* name, std::vector<Buffer> buffers, KernelFunction kernel, When when) {
    const uint64_t most = when == When::atOnceIfSmall ? kSmall : 0;
    return launchOn(stream, name, std::move(buffers), std::move(kernel), most, false);
}

Status launch(StreamHandle stream, const char* name, std::vector<Buffer> buffers, KernelFunction kernel,
              const Attempt& attempt) {
    return launchOn(stream, name, std::move(buffers), std::move(kernel), 0, false, attempt);
}

Status launchCompiled(StreamHandle stream, const char* name, std::vector<Buffer> buffers, KernelFunction kernel,
                      bool isForOneThread) {
    constexpr uint64_t kSmallCompiled = 65536;
    const uint64_t most = isForOneThread ? kSmallCompiled : 0;
    return launchOn(stream, name, std::move(buffers), std::move(kernel), most, true);
}

}  // namespace diopigen::sim
