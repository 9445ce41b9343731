#include <diopigen_sim/chip.h>
#include <diopigen_sim/launch.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "capture.h"
#include "launch_compiled.h"
#include "system.h"
#include "trace_log.h"

namespace diopigen::sim {

namespace {

Status launch_on(StreamHandle stream, const char* name, std::vector<Buffer>&& buffers, const KernelReference& kernel,
                 uint64_t most_at_once, bool is_compiled, const Attempt* attempt = nullptr) {
    if (name == nullptr || *name == '\0' || !kernel) {
        return {Code::invalidArgument, "launch: no name, or no kernel"};
    }
    const OpenStream open(stream);
    if (!open.status().ok()) {
        return open.status();
    }
    System* const system = open.system();
    Queue* const queue = open.queue();
    if (const Chip* const chip = system->chip; chip != nullptr && !is_compiled) {
        const Status status = kernels::admits(*chip, name, buffers.data(), buffers.size());
        if (!status.ok()) {
            return status;
        }
    }
    kernels::SmallVector<void*, 8> addresses;
    uint64_t bytes = 0;
    if (system->translate(queue->device(), buffers, &addresses, &bytes)) {
        const auto here = [&] { kernel(Kernel(addresses, buffers)); };
        if (most_at_once > 0 && bytes <= most_at_once && system->runAtOnce(queue, name, bytes, Work(here))) {
            return {};
        }
        if (attempt != nullptr && queue->is_capturing()) {
            return {Code::invalidArgument, std::string(name) + " waits for other devices: it cannot be captured"};
        }
        // The log has one entry for a kernel.
        if (attempt != nullptr && *attempt && bytes <= kSmall && !keeps_log()) {
            bool is_done = true;  // and stays so where it fails
            const auto attempted = [&] { is_done = (*attempt)(Kernel(addresses, buffers)); };
            if (system->runAtOnce(queue, name, bytes, Work(attempted)) && is_done) {
                return {};
            }
        }
    }
    Ranges ranges(buffers.size());
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        const bool write = buffers[i].access != Access::read;
        const auto what = [&] { return std::string(name) + ": buffer " + std::to_string(i); };
        const Status status =
            system->resolve(queue->device(), buffers[i].pointer, buffers[i].bytes, write, &ranges[i], what);
        if (!status.ok()) {
            return status;
        }
    }
    if (Capture::current() != nullptr) {
        auto captured =
            std::make_shared<const CapturedKernel>(CapturedKernel{name, bytes, std::move(buffers), kernel.move()});
        auto run = [addresses = std::move(addresses), captured] {
            captured->function(Kernel(addresses, captured->buffers));
        };
        return system->push(queue, ranges, {"", bytes, std::move(run), std::move(captured)});
    }
    auto run = [addresses = std::move(addresses), buffers = std::move(buffers), kept = kernel.move()] {
        kept(Kernel(addresses, buffers));
    };
    return system->push(queue, ranges, {name, bytes, std::move(run)});
}

}  // namespace

Status launch(StreamHandle stream, const char* name, std::vector<Buffer>&& buffers, const KernelReference& kernel,
              When when) {
    const uint64_t most = when == When::atOnceIfSmall ? kSmall : 0;
    return launch_on(stream, name, std::move(buffers), kernel, most, false);
}

Status launch(StreamHandle stream, const char* name, std::vector<Buffer> buffers, KernelFunction kernel, When when) {
    return launch(stream, name, std::move(buffers), KernelReference(kernel), when);
}

Status launch(StreamHandle stream, const char* name, std::vector<Buffer> buffers, KernelFunction kernel,
              const Attempt& attempt) {
    return launch_on(stream, name, std::move(buffers), KernelReference(kernel), 0, false, &attempt);
}

Status launch_compiled(StreamHandle stream, const char* name, std::vector<Buffer> buffers, KernelFunction kernel,
                       bool is_for_one_thread) {
    constexpr uint64_t kSmallCompiled = 65536;
    const uint64_t most = is_for_one_thread ? kSmallCompiled : 0;
    return launch_on(stream, name, std::move(buffers), KernelReference(kernel), most, true);
}

}  // namespace diopigen::sim
