#include <c10/util/Exception.h>
#include <diopigen_torch/device.h>
#include <diopigen_torch/device_graph.h>

#include <cstdlib>
#include <exception>
#include <string_view>

#include "registry.h"

namespace diopigen::backend {

namespace {

diopigenGraphCompiler_t graphCompiler{};

// Exception of a step: none passes through the vendor's code.
struct Run {
    const std::function<void(uint64_t)>* step;
    std::exception_ptr failure;
};

int32_t runStep(void* state, uint64_t step) {
    auto* const run = static_cast<Run*>(state);
    try {
        (*run->step)(step);
        return 0;
    } catch (...) {
        run->failure = std::current_exception();
        return 1;
    }
}

}  // namespace

bool hasGraphCompiler() {
    initialize();
    const char* const selected = std::getenv("DIOPI_COMPILE_GRAPH");
    return graphCompiler.compile != nullptr && (selected == nullptr || std::string_view(selected) != "0");
}

DeviceGraph::DeviceGraph(const std::string& document) {
    TORCH_CHECK(graphCompiler.compile != nullptr, "the device runs no graphs");
    requireDone(graphCompiler.compile(document.c_str(), &graph_), "take a graph");
}

DeviceGraph::~DeviceGraph() {
    finishWork();
    graphCompiler.unload(graph_);
}

void DeviceGraph::run(diopiStreamHandle_t stream, const std::vector<diopigenGraphSlot_t>& slots,
                      const std::function<void(uint64_t)>& step) const {
    Run run{&step, nullptr};
    const int32_t status = graphCompiler.run(graph_, stream, slots.data(), slots.size(), runStep, &run);
    if (run.failure != nullptr) {
        std::rethrow_exception(run.failure);
    }
    requireDone(status, "run a graph");
}

}  // namespace diopigen::backend

int32_t diopigenRegisterGraphCompiler(const diopigenGraphCompiler_t* table) {
    if (table == nullptr || table->size != sizeof(diopigenGraphCompiler_t) || table->compile == nullptr ||
        table->run == nullptr || table->unload == nullptr) {
        return 1;
    }
    diopigen::backend::graphCompiler = *table;
    return 0;
}
