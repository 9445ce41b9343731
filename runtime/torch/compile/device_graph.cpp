#include <c10/util/Exception.h>
#include <diopigen_torch/device.h>
#include <diopigen_torch/device_graph.h>

#include <cstdlib>
#include <exception>
#include <string_view>

#include "registry.h"

namespace diopigen::backend {

namespace {

diopigenGraphCompiler_t graph_compiler{};

// Exception of a step: none passes through the vendor's code.
struct Run {
    const std::function<void(uint64_t)>* step;
    std::exception_ptr failure;
};

int32_t run_step(void* state, uint64_t step) {
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

bool has_graph_compiler() {
    initialize();
    const char* const selected = std::getenv("DIOPI_COMPILE_GRAPH");
    return graph_compiler.compile != nullptr && (selected == nullptr || std::string_view(selected) != "0");
}

DeviceGraph::DeviceGraph(const std::string& document) {
    TORCH_CHECK(graph_compiler.compile != nullptr, "the device runs no graphs");
    require_done(graph_compiler.compile(document.c_str(), &graph_), "take a graph");
}

DeviceGraph::~DeviceGraph() {
    finish_work();
    graph_compiler.unload(graph_);
}

void DeviceGraph::run(diopiStreamHandle_t stream, const std::vector<diopigenGraphSlot_t>& slots,
                      const std::function<void(uint64_t)>& step) const {
    Run run{&step, nullptr};
    const int32_t status = graph_compiler.run(graph_, stream, slots.data(), slots.size(), run_step, &run);
    if (run.failure != nullptr) {
        std::rethrow_exception(run.failure);
    }
    require_done(status, "run a graph");
}

}  // namespace diopigen::backend

int32_t diopigenRegisterGraphCompiler(const diopigenGraphCompiler_t* table) {
    if (table == nullptr || table->size != sizeof(diopigenGraphCompiler_t) || table->compile == nullptr ||
        table->run == nullptr || table->unload == nullptr) {
        return 1;
    }
    diopigen::backend::graph_compiler = *table;
    return 0;
}
