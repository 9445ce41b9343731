// The graph compiler of the simulated device. The host's steps queue their kernels, which are held back and go to the
// queue together. What the steps of the first run queued is captured: later runs queue the same kernels over their own
// memory, and leave to the host the steps that do more than that.
#include "graph_runner.h"

#include <diopigen/json.h>

#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "capture.h"
#include "replay.h"
#include "system.h"

namespace diopigen::sim {

namespace {

constexpr int64_t kVersion = 1;

struct Step {
    std::string text;
    /// Whether the host runs it each time: a generator advances, or the version of an input counts.
    bool has_side_effect = false;
};

struct Graph {
    uint64_t slots = 0;
    std::vector<Step> steps;
    /// Without the bytes of slots, which each run has.
    std::vector<Region> regions;
    std::mutex mutex;
    /// Of the first run that had no error. Under the lock.
    std::shared_ptr<const Replay> replay;
};

Status failed(const std::string& text) { return {Code::invalidArgument, text}; }

void require(bool condition, const std::string& text) {
    if (!condition) {
        throw std::runtime_error(text);
    }
}

int64_t element_bytes(const std::string& dtype) {
    static const std::map<std::string, int64_t> sizes = {
        {"bool", 1},        {"int8", 1},          {"uint8", 1},       {"int16", 2},         {"uint16", 2},
        {"float16", 2},     {"bfloat16", 2},      {"int32", 4},       {"uint32", 4},        {"float32", 4},
        {"complex32", 4},   {"int64", 8},         {"uint64", 8},      {"float64", 8},       {"complex64", 8},
        {"complex128", 16}, {"float8_e4m3fn", 1}, {"float8_e5m2", 1}, {"float8_e8m0fnu", 1}};
    const auto found = sizes.find(dtype);
    require(found != sizes.end(), "the dtype '" + dtype + "'");
    return found->second;
}

// The last byte that a slot's layout reaches, from its first element on.
int64_t extent_of(const Json& slot) {
    const std::vector<int64_t> sizes = slot.at("sizes").integers(), strides = slot.at("strides").integers();
    require(sizes.size() == strides.size(), "as many sizes as strides");
    int64_t extent = 1;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
        require(sizes[i] >= 0 && strides[i] >= 0, "sizes and strides that are not negative");
        extent = sizes[i] == 0 || extent == 0 ? 0 : extent + (sizes[i] - 1) * strides[i];
    }
    return extent * element_bytes(slot.at("dtype").text());
}

void check_slot(const Json& slot, std::size_t count, int64_t arena) {
    const std::string& kind = slot.at("kind").text();
    if (kind == "arena") {
        const int64_t offset = slot.at("offset").integer(), extent = extent_of(slot);
        require(offset >= 0 && offset + extent <= arena, "memory inside the arena of " + std::to_string(arena) +
                                                             " bytes, and it has " + std::to_string(extent) + " at " +
                                                             std::to_string(offset));
    } else if (kind == "view") {
        const int64_t base = slot.at("base").integer();
        require(base >= 0 && base < static_cast<int64_t>(count), "a base that exists, not " + std::to_string(base));
        static_cast<void>(extent_of(slot));
    } else if (kind == "fresh") {
        static_cast<void>(extent_of(slot));
    } else {
        require(kind == "input" || kind == "constant", "a kind of slot that the device knows, not '" + kind + "'");
    }
}

// Every step is a function, or a kernel over slots that exist.
void check_step(const Json& step, std::size_t slots) {
    const Json& kernel = step.at("kernel");
    if (kernel.is_null()) {
        require(!step.at("function").is_null(), "a function or a kernel");
        require(step.at("operands").is_list(), "operands");
        return;
    }
    for (const Json& buffer : kernel.at("buffers").list()) {
        const int64_t slot = buffer.at("slot").integer();
        require(slot >= 0 && slot < static_cast<int64_t>(slots), "slots that exist, not " + std::to_string(slot));
    }
}

// The ranges of memory that a run has: one for the arena, which holds the slots in it together.
std::vector<Region> regions_of(const std::vector<Json>& slots, int64_t arena) {
    std::vector<Region> regions;
    bool has_arena = false;
    for (uint64_t i = 0; i < slots.size(); ++i) {
        const std::string& kind = slots[i].at("kind").text();
        if (kind == "arena" && !has_arena && extent_of(slots[i]) > 0) {
            has_arena = true;
            regions.push_back(
                {i, static_cast<uint64_t>(slots[i].at("offset").integer()), static_cast<uint64_t>(arena), false});
        } else if (kind != "arena" && kind != "view") {
            regions.push_back({i, 0, 0, kind == "constant"});
        }
    }
    return regions;
}

bool has_side_effect(const Json& step) {
    const Json& kernel = step.at("kernel");
    const Json& writes = kernel.is_null() ? step.at("writes") : kernel.at("writes");
    return !step.at("random").is_null() || !(writes.is_null() || (writes.is_list() && writes.list().empty()));
}

std::unique_ptr<Graph> parsed(const char* document) {
    const Json plan = Json::parse(document);
    const int64_t version = plan.at("version").integer();
    require(version == kVersion,
            "expected the version " + std::to_string(kVersion) + ", not " + std::to_string(version));
    auto graph = std::make_unique<Graph>();
    const std::vector<Json>& slots = plan.at("slots").list();
    graph->slots = slots.size();
    for (std::size_t i = 0; i < slots.size(); ++i) {
        try {
            check_slot(slots[i], slots.size(), plan.at("arena").integer());
        } catch (const std::runtime_error& error) {
            throw std::runtime_error("slot " + std::to_string(i) + ": expected " + error.what());
        }
    }
    const std::vector<Json>& steps = plan.at("steps").list();
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const Json& node = steps[i].at("node");
        Step& step = graph->steps.emplace_back();
        step.text = "step " + std::to_string(i) + (node.is_text() ? " (" + node.text() + ")" : "");
        try {
            check_step(steps[i], slots.size());
            step.has_side_effect = has_side_effect(steps[i]);
        } catch (const std::runtime_error& error) {
            throw std::runtime_error(step.text + ": expected " + error.what());
        }
    }
    graph->regions = regions_of(slots, plan.at("arena").integer());
    return graph;
}

std::shared_ptr<const Replay> replay_of(Graph& graph) {
    const std::lock_guard<std::mutex> lock(graph.mutex);
    return graph.replay;
}

/// One run: its steps are captured, replayed, or neither.
class GraphRun {
  public:
    GraphRun(Graph& graph, Queue& queue, const diopigenGraphSlot_t* slots, diopigenGraphStep_t step, void* state)
        : graph_(graph), queue_(queue), slots_(slots), step_(step), state_(state) {}

    /// By the host alone.
    Status plain() const {
        for (uint64_t i = 0; i < graph_.steps.size(); ++i) {
            if (Status status = host(i); !status.ok()) {
                return status;
            }
        }
        return {};
    }

    Status captured() const {
        std::vector<Region> regions = graph_.regions;
        for (Region& region : regions) {
            region.bytes = region.bytes == 0 ? slots_[region.slot].bytes : region.bytes;
        }
        const auto replay = std::make_shared<Replay>(slots_, std::move(regions));
        for (uint64_t i = 0; i < graph_.steps.size(); ++i) {
            Capture capture(queue_);
            if (Status status = host(i); !status.ok()) {
                return status;
            }
            std::optional<CapturedKernels> kernels = capture.take();
            replay->add(graph_.steps[i].has_side_effect ? std::nullopt : std::move(kernels));
        }
        const std::lock_guard<std::mutex> lock(graph_.mutex);
        graph_.replay = replay;
        return {};
    }

    Status replayed(const Replay::Run& run) const {
        for (uint64_t i = 0; i < graph_.steps.size(); ++i) {
            if (run.push(&queue_, i)) {
                continue;
            }
            if (Status status = host(i); !status.ok()) {
                return status;
            }
        }
        return {};
    }

  private:
    Status host(uint64_t step) const {
        return step_(state_, step) == 0 ? Status() : failed(graph_.steps[step].text + " of a graph failed");
    }

    Graph& graph_;
    Queue& queue_;
    const diopigenGraphSlot_t* slots_;
    diopigenGraphStep_t step_;
    void* state_;
};

}  // namespace

Status compile_graph(const char* document, void** graph) {
    if (document == nullptr || graph == nullptr) {
        return failed("a graph without a document, or without a place for it");
    }
    try {
        *graph = parsed(document).release();
    } catch (const std::runtime_error& error) {
        return failed(std::string("the document of a graph: ") + error.what());
    }
    return {};
}

Status run_graph(void* graph, diopiStreamHandle_t stream, const diopigenGraphSlot_t* slots, uint64_t slot_count,
                 diopigenGraphStep_t step, void* state) {
    auto* const own = static_cast<Graph*>(graph);
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
    const GraphRun run(*own, *queue, slots, step, state);
    // A step that runs a graph itself adds to the batch of the outer one. A single step needs none and may run at once.
    if (Batch::exists() || own->steps.size() == 1) {
        return run.plain();
    }
    const Batch batch(*queue);
    // What a check or a delay is about has to happen in each run.
    if (!system->settings().is_plain()) {
        return run.plain();
    }
    const std::shared_ptr<const Replay> replay = replay_of(*own);
    if (replay == nullptr) {
        return run.captured();
    }
    const auto prepared = replay->is_useful() ? replay->start(system, queue->device(), slots) : nullptr;
    return prepared == nullptr ? run.plain() : run.replayed(*prepared);
}

Status unload_graph(void* graph) {
    const std::unique_ptr<Graph> own(static_cast<Graph*>(graph));
    return {};
}

}  // namespace diopigen::sim
