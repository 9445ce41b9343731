// The graph compiler of the simulated device. It compiles nothing: the host's steps queue their kernels, which are held
// back and go to the queue together.
#include "graph_runner.h"

#include <diopigen/json.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "system.h"

namespace diopigen::sim {

namespace {

constexpr int64_t kVersion = 1;

struct Graph {
    uint64_t slots = 0;
    std::vector<std::string> steps;
};

Status failed(const std::string& text) { return {Code::invalidArgument, text}; }

void require(bool condition, const std::string& text) {
    if (!condition) {
        throw std::runtime_error(text);
    }
}

int64_t elementBytes(const std::string& dtype) {
    static const std::map<std::string, int64_t> sizes = {
        {"bool", 1},     {"int8", 1},    {"uint8", 1},     {"int16", 2},      {"uint16", 2},    {"float16", 2},
        {"bfloat16", 2}, {"int32", 4},   {"uint32", 4},    {"float32", 4},    {"complex32", 4}, {"int64", 8},
        {"uint64", 8},   {"float64", 8}, {"complex64", 8}, {"complex128", 16}};
    const auto found = sizes.find(dtype);
    require(found != sizes.end(), "the dtype '" + dtype + "'");
    return found->second;
}

// The last byte that a slot's layout reaches, from its first element on.
int64_t extentOf(const Json& slot) {
    const std::vector<int64_t> sizes = slot.at("sizes").integers(), strides = slot.at("strides").integers();
    require(sizes.size() == strides.size(), "as many sizes as strides");
    int64_t extent = 1;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        require(sizes[i] >= 0 && strides[i] >= 0, "sizes and strides that are not negative");
        extent = sizes[i] == 0 || extent == 0 ? 0 : extent + (sizes[i] - 1) * strides[i];
    }
    return extent * elementBytes(slot.at("dtype").text());
}

void checkSlot(const Json& slot, std::size_t count, int64_t arena) {
    const std::string& kind = slot.at("kind").text();
    if (kind == "arena") {
        const int64_t offset = slot.at("offset").integer(), extent = extentOf(slot);
        require(offset >= 0 && offset + extent <= arena, "memory inside the arena of " + std::to_string(arena) +
                                                             " bytes, and it has " + std::to_string(extent) + " at " +
                                                             std::to_string(offset));
    } else if (kind == "view") {
        const int64_t base = slot.at("base").integer();
        require(base >= 0 && base < static_cast<int64_t>(count), "a base that exists, not " + std::to_string(base));
        static_cast<void>(extentOf(slot));
    } else if (kind == "fresh") {
        static_cast<void>(extentOf(slot));
    } else {
        require(kind == "input" || kind == "constant", "a kind of slot that the device knows, not '" + kind + "'");
    }
}

// Every step is a function, or a kernel over slots that exist.
void checkStep(const Json& step, std::size_t slots) {
    const Json& kernel = step.at("kernel");
    if (kernel.isNull()) {
        require(!step.at("function").isNull(), "a function or a kernel");
        require(step.at("operands").isList(), "operands");
        return;
    }
    for (const Json& buffer : kernel.at("buffers").list()) {
        const int64_t slot = buffer.at("slot").integer();
        require(slot >= 0 && slot < static_cast<int64_t>(slots), "slots that exist, not " + std::to_string(slot));
    }
}

Graph parsed(const char* document) {
    const Json plan = Json::parse(document);
    const int64_t version = plan.at("version").integer();
    require(version == kVersion,
            "expected the version " + std::to_string(kVersion) + ", not " + std::to_string(version));
    Graph graph;
    const std::vector<Json>& slots = plan.at("slots").list();
    graph.slots = slots.size();
    for (std::size_t i = 0; i < slots.size(); ++i) {
        try {
            checkSlot(slots[i], slots.size(), plan.at("arena").integer());
        } catch (const std::runtime_error& error) {
            throw std::runtime_error("slot " + std::to_string(i) + ": expected " + error.what());
        }
    }
    const std::vector<Json>& steps = plan.at("steps").list();
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const Json& node = steps[i].at("node");
        graph.steps.push_back("step " + std::to_string(i) + (node.isText() ? " (" + node.text() + ")" : ""));
        try {
            checkStep(steps[i], slots.size());
        } catch (const std::runtime_error& error) {
            throw std::runtime_error(graph.steps.back() + ": expected " + error.what());
        }
    }
    return graph;
}

}  // namespace

Status compileGraph(const char* document, void** graph) {
    if (document == nullptr || graph == nullptr) {
        return failed("a graph without a document, or without a place for it");
    }
    try {
        *graph = std::make_unique<Graph>(parsed(document)).release();
    } catch (const std::runtime_error& error) {
        return failed(std::string("the document of a graph: ") + error.what());
    }
    return {};
}

Status runGraph(void* graph, diopiStreamHandle_t stream, const diopigenGraphSlot_t* slots, uint64_t slot_count,
                diopigenGraphStep_t step, void* state) {
    const auto* const own = static_cast<const Graph*>(graph);
    if (own == nullptr || step == nullptr || (slots == nullptr && slot_count != 0)) {
        return failed("a run without a graph, slots or steps");
    }
    if (slot_count != own->slots) {
        return failed("a run with " + std::to_string(slot_count) + " slots of a graph that has " +
                      std::to_string(own->slots));
    }
    System* system = nullptr;
    std::shared_ptr<Queue> queue;
    const Status status = System::open(stream, &system, &queue);
    if (!status.ok()) {
        return status;
    }
    // A step that runs a graph itself adds to the batch of the outer one. A single step needs none and may run at once.
    const bool isAlone = Batch::exists() || own->steps.size() == 1;
    const auto batch = isAlone ? nullptr : std::make_unique<Batch>(*queue);
    for (uint64_t i = 0; i < own->steps.size(); ++i) {
        if (step(state, i) != 0) {
            return failed(own->steps[i] + " of a graph failed");
        }
    }
    return {};
}

Status unloadGraph(void* graph) {
    const std::unique_ptr<Graph> own(static_cast<Graph*>(graph));
    return {};
}

}  // namespace diopigen::sim
