// Kernels and graphs that a framework compiled: when they run on the calling thread, and what is held back.
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "../../runtime/sim/src/graph_runner.h"
#include "../../runtime/sim/src/launch_compiled.h"
#include "../../runtime/sim/src/queue.h"
#include "sim_test.h"

using simtest::Floats;
using simtest::isUndisturbed;
using simtest::Stream;

namespace {

constexpr uint64_t kMost = 65536;  // bytes

enum class Where { nowhere, here, elsewhere };

/// Launches a kernel that tells whether it runs on this thread.
std::shared_ptr<Where> launched(sim::StreamHandle stream, const Floats& memory, uint64_t bytes,
                                bool is_for_one_thread) {
    const auto seen = std::make_shared<Where>(Where::nowhere);
    const auto run = [seen, caller = std::this_thread::get_id()](const sim::Kernel&) {
        *seen = std::this_thread::get_id() == caller ? Where::here : Where::elsewhere;
    };
    CHECK_OK(sim::launch_compiled(stream, "fused", {sim::updates(memory.get(), bytes)}, run, is_for_one_thread));
    return seen;
}

/// Whether a kernel over so much memory runs on this thread in one of some launches: whether a stream is seen as idle
/// depends on what its thread does just then.
bool runsHere(sim::StreamHandle stream, const Floats& memory, uint64_t bytes, bool is_for_one_thread) {
    for (int i = 0; i < 200; ++i) {
        const auto seen = launched(stream, memory, bytes, is_for_one_thread);
        CHECK_OK(sim::synchronize(stream));
        CHECK(*seen != Where::nowhere);
        if (*seen == Where::here) {
            return true;
        }
    }
    return false;
}

/// A graph of so many steps that call functions.
std::string document(int steps) {
    std::string text = R"({"version": 1, "arena": 0, "slots": [], "steps": [)";
    for (int i = 0; i < steps; ++i) {
        text += std::string(i == 0 ? "" : ", ") + R"({"node": "n", "function": "diopiNothing", "operands": []})";
    }
    return text + "]}";
}

/// What a graph's steps queue, and how often the device got work when each of them ended.
struct Steps {
    sim::StreamHandle stream;
    uint64_t before = sim::Queue::submissions();
    std::vector<uint64_t> seen = {};
};

int32_t queueOne(void* state, uint64_t) {
    auto* const own = static_cast<Steps*>(state);
    const sim::Status status = sim::launch(own->stream, "diopiNothing", {}, [](const sim::Kernel&) {});
    own->seen.push_back(sim::Queue::submissions() - own->before);
    return status.ok() ? 0 : 1;
}

/// Submissions up to the end of each step, and up to the end of the run.
std::vector<uint64_t> submissions(int steps) {
    const Stream stream;
    void* graph = nullptr;
    CHECK_OK(sim::compile_graph(document(steps).c_str(), &graph));
    Steps state{stream};
    CHECK_OK(sim::run_graph(graph, stream, nullptr, 0, queueOne, &state));
    state.seen.push_back(sim::Queue::submissions() - state.before);
    CHECK_OK(sim::synchronize(stream));
    CHECK_OK(sim::unload_graph(graph));
    return state.seen;
}

}  // namespace

TEST_CASE("a_small_compiled_kernel_runs_on_the_calling_thread") {
    const Stream stream;
    const Floats memory(kMost / 4 + 1);
    CHECK(runsHere(stream, memory, kMost, true) == isUndisturbed());
    CHECK(!runsHere(stream, memory, kMost + 1, true));  // too many bytes
    CHECK(!runsHere(stream, memory, kMost, false));     // worth several threads
}

TEST_CASE("a_small_compiled_kernel_waits_for_what_is_queued") {
    const Stream stream;
    const Floats memory(4);
    const auto gate = std::make_shared<std::promise<void>>();
    const auto opened = std::make_shared<std::shared_future<void>>(gate->get_future().share());
    CHECK_OK(sim::launch(stream, "diopiNothing", {}, [opened](const sim::Kernel&) { opened->wait(); }));
    const auto seen = launched(stream, memory, 16, true);
    gate->set_value();
    CHECK_OK(sim::synchronize(stream));
    CHECK(*seen == Where::elsewhere);
}

TEST_CASE("a_graph_of_one_step_is_not_held_back") {
    CHECK(submissions(1) == (std::vector<uint64_t>{1, 1}));
    CHECK(submissions(3) == (std::vector<uint64_t>{0, 0, 0, 1}));
}
