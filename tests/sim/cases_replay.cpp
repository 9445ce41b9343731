// Graphs whose steps are captured in their first run, and replayed over the memory of later runs.
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "../../runtime/sim/src/graph_runner.h"
#include "sim_test.h"

using simtest::Floats;
using simtest::isUndisturbed;
using simtest::Stream;

namespace {

constexpr uint64_t kCount = 128;  // elements of each slot

/// An input, a result, and the arena between them: three steps, each of which adds one.
std::string document(const std::string& ofSecondStep = "") {
    const std::string layout = R"("dtype": "float32", "sizes": [128], "strides": [1])";
    const std::string step = R"("node": "n", "function": "diopiAddScalar", "operands": [])";
    return R"({"version": 1, "arena": 1024, "slots": [{"kind": "input", )" + layout +
           R"(}, {"kind": "arena", "offset": 0, )" + layout + R"(}, {"kind": "arena", "offset": 512, )" + layout +
           R"(}, {"kind": "fresh", )" + layout + R"(}], "steps": [{)" + step + "}, {" + step + ofSecondStep + "}, {" +
           step + "}]}";
}

class Graph {
  public:
    explicit Graph(const std::string& text = document()) { CHECK_OK(sim::compile_graph(text.c_str(), &graph_)); }
    ~Graph() { CHECK_OK(sim::unload_graph(graph_)); }
    operator void*() const { return graph_; }

  private:
    void* graph_ = nullptr;
};

/// A run over memory of its own: which steps the host ran, and what came out.
struct Run {
    sim::StreamHandle stream;
    const float* input;
    const float* scratch;
    float* result;
    /// Instead of the second step.
    std::function<void(Run&)> second = {};
    std::vector<uint64_t> steps = {};

    void add(const float* from, float* to) const {
        const auto kernel = [](const sim::Kernel& k) {
            for (uint64_t i = 0; i < kCount; ++i) {
                k.out<float>(1)[i] = k.in<float>(0)[i] + 1;
            }
        };
        CHECK_OK(
            sim::launch(stream, "diopiAddScalar", {sim::reads(from, 4 * kCount), sim::writes(to, 4 * kCount)}, kernel));
    }
    float* middle(int i) const { return const_cast<float*>(scratch) + i * 128; }
};

int32_t runStep(void* state, uint64_t step) {
    auto* const run = static_cast<Run*>(state);
    run->steps.push_back(step);
    if (step == 0) {
        run->add(run->input, run->middle(0));
    } else if (step == 2) {
        run->add(run->middle(1), run->result);
    } else if (run->second) {
        run->second(*run);
    } else {
        run->add(run->middle(0), run->middle(1));
    }
    return 0;
}

void run_graph(void* graph, Run& run) {
    const diopigenGraphSlot_t slots[] = {{const_cast<float*>(run.input), 4 * kCount},
                                         {run.middle(0), 4 * kCount},
                                         {run.middle(1), 4 * kCount},
                                         {run.result, 4 * kCount}};
    CHECK_OK(sim::run_graph(graph, run.stream, slots, 4, runStep, &run));
    CHECK_OK(sim::synchronize(run.stream));
}

/// The steps that the host ran in each of some runs over memory of their own, whose results are checked.
std::vector<std::vector<uint64_t>> hostSteps(void* graph, int runs, const std::function<void(Run&)>& second = {}) {
    const Stream stream;
    std::vector<std::vector<uint64_t>> found;
    for (int i = 0; i < runs; ++i) {
        const Floats input(kCount), scratch(2 * kCount), result(kCount);
        input.set(stream, std::vector<float>(kCount, static_cast<float>(10 * i)));
        Run run{stream, input.get(), scratch.get(), result.get(), second};
        run_graph(graph, run);
        CHECK(result.values(stream) == std::vector<float>(kCount, static_cast<float>(10 * i + 3)));
        found.push_back(run.steps);
    }
    return found;
}

using Steps = std::vector<uint64_t>;
const Steps kAll = {0, 1, 2};

/// All steps in each run, where a check or a delay has to see them.
Steps unless(const Steps& replayed) { return isUndisturbed() ? replayed : kAll; }

}  // namespace

TEST_CASE("later_runs_replay_the_steps_of_the_first") {
    const Graph graph;
    CHECK(hostSteps(graph, 3) == (std::vector<Steps>{kAll, unless({}), unless({})}));
}

TEST_CASE("a_step_that_waits_is_run_each_time") {
    const Graph graph;
    const auto second = [](Run& run) {
        run.add(run.middle(0), run.middle(1));
        CHECK_OK(sim::synchronize(run.stream));
    };
    CHECK(hostSteps(graph, 3, second) == (std::vector<Steps>{kAll, unless({1}), unless({1})}));
}

TEST_CASE("a_step_that_copies_is_run_each_time") {
    const Graph graph;
    const std::vector<float> values(kCount, 0);
    const auto second = [](Run& run) {
        run.add(run.middle(0), run.result);
        CHECK_OK(sim::copyOnDevice(run.stream, run.middle(1), run.result, 4 * kCount));
    };
    CHECK(hostSteps(graph, 3, second) == (std::vector<Steps>{kAll, unless({1}), unless({1})}));
}

TEST_CASE("a_step_with_memory_of_its_own_is_run_each_time") {
    const Graph graph;
    const Floats own(kCount);
    const auto second = [&](Run& run) {
        run.add(run.middle(0), own.get());
        const auto kernel = [](const sim::Kernel& k) {
            for (uint64_t i = 0; i < kCount; ++i) {
                k.out<float>(1)[i] = k.in<float>(0)[i];
            }
        };
        CHECK_OK(sim::launch(run.stream, "diopiCopyInp",
                             {sim::reads(own.get(), 4 * kCount), sim::writes(run.middle(1), 4 * kCount)}, kernel));
    };
    CHECK(hostSteps(graph, 3, second) == (std::vector<Steps>{kAll, unless({1}), unless({1})}));
}

TEST_CASE("a_step_on_another_stream_is_run_each_time") {
    const Graph graph;
    const Stream other;
    const auto second = [&](Run& run) {
        CHECK_OK(sim::synchronize(run.stream));
        Run moved = run;
        moved.stream = other;
        moved.add(run.middle(0), run.middle(1));
        CHECK_OK(sim::synchronize(other));
    };
    CHECK(hostSteps(graph, 3, second) == (std::vector<Steps>{kAll, unless({1}), unless({1})}));
}

TEST_CASE("a_step_with_a_generator_or_a_written_input_is_run_each_time") {
    for (const char* const key : {R"(, "random": true)", R"(, "writes": 0)"}) {
        const Graph graph(document(key));
        CHECK(hostSteps(graph, 3) == (std::vector<Steps>{kAll, unless({1}), unless({1})}));
    }
}

TEST_CASE("memory_with_another_alignment_is_left_to_the_host") {
    const Graph graph;
    const Stream stream;
    const Floats input(kCount + 4), scratch(2 * kCount), result(kCount);
    input.set(stream, std::vector<float>(kCount + 4, 5));
    for (const int offset : {0, 4, 0}) {
        Run run{stream, input.get() + offset, scratch.get(), result.get()};
        const bool isFirst = offset == 0 && result.values(stream).front() != 8;
        run_graph(graph, run);
        CHECK(result.values(stream) == std::vector<float>(kCount, 8));
        CHECK(run.steps == (isFirst || offset != 0 ? kAll : unless({})));
    }
}

TEST_CASE("inputs_that_share_memory_are_not_told_apart") {
    const std::string layout = R"("dtype": "float32", "sizes": [128], "strides": [1])";
    const std::string step = R"({"node": "n", "function": "diopiAdd", "operands": []})";
    const Graph graph(R"({"version": 1, "arena": 0, "slots": [{"kind": "input", )" + layout +
                      R"(}, {"kind": "input", )" + layout + R"(}, {"kind": "fresh", )" + layout + R"(}], "steps": [)" +
                      step + ", " + step + "]}");
    const Stream stream;
    const Floats x(kCount), y(kCount), result(kCount);
    x.set(stream, std::vector<float>(kCount, 1));
    y.set(stream, std::vector<float>(kCount, 2));
    struct Sum {
        sim::StreamHandle stream;
        std::vector<diopigenGraphSlot_t> slots;
    };
    const auto add = [](void* state, uint64_t) -> int32_t {
        const auto* const sum = static_cast<const Sum*>(state);
        const auto kernel = [](const sim::Kernel& k) {
            for (uint64_t i = 0; i < kCount; ++i) {
                k.out<float>(2)[i] = k.in<float>(0)[i] + k.in<float>(1)[i];
            }
        };
        return sim::launch(sum->stream, "diopiAdd",
                           {sim::reads(sum->slots[0].data, 4 * kCount), sim::reads(sum->slots[1].data, 4 * kCount),
                            sim::writes(sum->slots[2].data, 4 * kCount)},
                           kernel)
                       .ok()
                   ? 0
                   : 1;
    };
    for (const Floats* second : {&x, &y}) {
        Sum sum{stream, {{x.get(), 4 * kCount}, {second->get(), 4 * kCount}, {result.get(), 4 * kCount}}};
        CHECK_OK(sim::run_graph(graph, stream, sum.slots.data(), 3, add, &sum));
        CHECK(result.values(stream).front() == (second == &x ? 2 : 3));
    }
}

TEST_CASE("threads_replay_one_graph_at_once") {
    const Graph graph;
    (void)hostSteps(graph, 1);
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] { (void)hostSteps(graph, 20); });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}
