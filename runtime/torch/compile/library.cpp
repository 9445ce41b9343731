// Functions for the planner in Python: programs by number, and counts of dispatched overloads.
#include <diopigen_torch/arena_plan.h>
#include <diopigen_torch/resolved.h>
#include <diopigen_torch/tape.h>
#include <torch/library.h>

#include <algorithm>
#include <tuple>

namespace diopigen::backend {

namespace {

struct Programs {
    std::mutex mutex;
    std::map<int64_t, std::shared_ptr<Program>> all;
    int64_t next = 0;
};

Programs& programs() {
    static auto* const created = new Programs;
    return *created;
}

struct AllCalls {
    std::mutex mutex;
    std::map<std::pair<std::string, std::string>, CompiledCalls> all;
};

AllCalls& calls() {
    static auto* const created = new AllCalls;
    return *created;
}

// The inputs of this thread's next run. Python empties its own list between the two calls, so that the run alone holds
// them, and frees each after its last use.
thread_local std::vector<at::Tensor> staged;
thread_local std::vector<int64_t> staged_numbers;
// The outputs of its latest run that are numbers.
thread_local std::vector<c10::Scalar> latest_numbers;

using Texts = std::vector<std::string>;

std::tuple<Texts, Texts, std::vector<int64_t>> compiled_columns() {
    std::tuple<Texts, Texts, std::vector<int64_t>> columns;
    for (const CompiledCalls* each : all_compiled_calls()) {
        if (const int64_t count = each->calls.load(); count > 0) {
            std::get<0>(columns).push_back(each->overload);
            std::get<1>(columns).push_back(each->reason);
            std::get<2>(columns).push_back(count);
        }
    }
    return columns;
}

c10::Dict<std::string, int64_t> statistics(int64_t number) {
    const std::shared_ptr<Program> program = program_of(number);
    c10::Dict<std::string, int64_t> values;
    values.insert("arena_bytes", program->arena_bytes());
    values.insert("steps", program->step_count());
    values.insert("dispatched", program->dispatched_count());
    values.insert("fused", program->fused_count());
    values.insert("instances", program->instance_count());
    values.insert("whole", program->is_whole() ? 1 : 0);
    values.insert("sized", program->sized_count());
    values.insert("cached", program->cached_count());
    return values;
}

// The first program that is for the sizes of what is staged; -1 where none is.
int64_t select_program(const std::vector<int64_t>& numbers) {
    for (size_t i = 0; i < numbers.size(); ++i) {
        if (program_of(numbers[i])->sized_for(staged, staged_numbers) != nullptr) {
            return static_cast<int64_t>(i);
        }
    }
    return -1;
}

std::vector<at::Tensor> run_program(int64_t number) {
    const std::shared_ptr<Program> program = program_of(number);
    std::vector<at::Tensor> inputs = std::exchange(staged, {});
    const std::shared_ptr<Program::Sized> sized = program->sized_for(inputs, staged_numbers);
    TORCH_CHECK(sized != nullptr, "a compiled graph is called with sizes that its plan is not for");
    std::vector<at::Tensor> results = program->run(*sized, std::move(inputs));
    latest_numbers = program->results(*sized);
    return results;
}

// Integers and booleans are in the first list, real numbers in the second; the other one has 0.
std::tuple<std::vector<int64_t>, std::vector<double>> columns(const std::vector<c10::Scalar>& values) {
    std::tuple<std::vector<int64_t>, std::vector<double>> columns;
    for (const c10::Scalar& value : values) {
        const bool is_real = value.isFloatingPoint();
        std::get<0>(columns).push_back(is_real ? 0 : value.isBoolean() ? value.toBool() : value.toLong());
        std::get<1>(columns).push_back(is_real ? value.toDouble() : 0);
    }
    return columns;
}

// The offsets of an arena, and its bytes as the last one.
std::vector<int64_t> arena_offsets(const std::vector<int64_t>& bytes, const std::vector<int64_t>& first,
                                   const std::vector<int64_t>& last) {
    TORCH_CHECK(bytes.size() == first.size() && bytes.size() == last.size(), "lists of different lengths");
    std::vector<Lifetime> lifetimes;
    for (size_t i = 0; i < bytes.size(); ++i) {
        lifetimes.push_back({bytes[i], static_cast<size_t>(first[i]), static_cast<size_t>(last[i])});
    }
    ArenaPlan plan = plan_arena(lifetimes);
    plan.offsets.push_back(plan.bytes);
    return plan.offsets;
}

TORCH_LIBRARY_FRAGMENT(diopi, library) {
    library.def("compiled_bindings() -> str", [] { return std::string(compiled_bindings()); });
    library.def("compiled_kernels() -> str", [] { return std::string(compiled_kernels()); });
    library.def("has_kernel_compiler() -> bool", [] { return has_kernel_compiler(); });
    library.def("check_kernel(str source, str name) -> str", [](const std::string& source, const std::string& name) {
        try {
            static_cast<void>(device_kernel(source, name));
            return std::string();
        } catch (const c10::Error& error) {
            return std::string(error.what_without_backtrace());
        }
    });
    library.def("has_graph_compiler() -> bool", [] { return has_graph_compiler(); });
    library.def("check_graph(str plan) -> str", [](const std::string& plan) {
        try {
            const DeviceGraph graph(plan);
            return std::string();
        } catch (const c10::Error& error) {
            return std::string(error.what_without_backtrace());
        }
    });
    library.def("has_function(str name) -> bool", [](const std::string& name) {
        const CompiledFunction* const function = compiled_function(name);
        return function != nullptr && function->function != nullptr;
    });
    library.def("resolve_graph(str plan, int[] symbols) -> str",
                [](const std::string& plan, const std::vector<int64_t>& symbols) {
                    return resolved_document(Json::parse(plan), symbols);
                });
    library.def("evaluate(str expressions, int[] symbols) -> (int[], float[])",
                [](const std::string& table, const std::vector<int64_t>& symbols) {
                    return columns(Expressions(Json::parse(table), symbols.size()).values(symbols));
                });
    library.def("plan_arena(int[] bytes, int[] first, int[] last) -> int[]", &arena_offsets);
    library.def("make_program(str plan, Tensor[] constants, int cached=32) -> int",
                [](const std::string& plan, std::vector<at::Tensor> constants, int64_t cached) {
                    return add_program(plan, std::move(constants), cached);
                });
    library.def("remove_program(int program) -> ()", [](int64_t number) { remove_program(number); });
    library.def("program_statistics(int program) -> Dict(str, int)", &statistics);
    library.def("stage(Tensor[] inputs, int[] numbers=[]) -> ()",
                [](std::vector<at::Tensor> inputs, std::vector<int64_t> numbers) {
                    staged = std::move(inputs);
                    staged_numbers = std::move(numbers);
                });
    library.def("select_program(int[] programs) -> int", &select_program);
    library.def("run_program(int program) -> Tensor[]", &run_program);
    library.def("result_numbers() -> (int[], float[])", [] { return columns(latest_numbers); });
    library.def("note_unplanned(str reason) -> ()",
                [](const std::string& reason) { compiled_calls_of("(graph)", reason)->calls.fetch_add(1); });
    library.def("compiled_calls() -> (str[], str[], int[])", &compiled_columns);
    library.def("reset_compiled_calls() -> ()", [] { reset_compiled_calls(); });
}

}  // namespace

int64_t add_program(std::string_view plan, std::vector<at::Tensor> constants, int64_t most_sizes) {
    auto program = std::make_shared<Program>(Json::parse(plan), std::move(constants),
                                             static_cast<size_t>(std::max<int64_t>(1, most_sizes)));
    const std::lock_guard<std::mutex> lock(programs().mutex);
    const int64_t number = programs().next++;
    programs().all.emplace(number, std::move(program));
    return number;
}

std::shared_ptr<Program> program_of(int64_t number) {
    const std::lock_guard<std::mutex> lock(programs().mutex);
    const auto found = programs().all.find(number);
    TORCH_CHECK(found != programs().all.end(), "there is no compiled graph ", number);
    return found->second;
}

void remove_program(int64_t number) {
    std::shared_ptr<Program> last;  // freed after the lock: its memory goes back to the device
    const std::lock_guard<std::mutex> lock(programs().mutex);
    const auto found = programs().all.find(number);
    if (found != programs().all.end()) {
        last = std::move(found->second);
        programs().all.erase(found);
    }
}

CompiledCalls* compiled_calls_of(const std::string& overload, const std::string& reason) {
    const std::lock_guard<std::mutex> lock(calls().mutex);
    CompiledCalls& own = calls().all[{overload, reason}];
    own.overload = overload;
    own.reason = reason;
    return &own;
}

std::vector<const CompiledCalls*> all_compiled_calls() {
    const std::lock_guard<std::mutex> lock(calls().mutex);
    std::vector<const CompiledCalls*> found;
    for (const auto& [key, each] : calls().all) {
        found.push_back(&each);
    }
    return found;
}

void reset_compiled_calls() {
    const std::lock_guard<std::mutex> lock(calls().mutex);
    for (auto& [key, each] : calls().all) {
        each.calls.store(0);
    }
}

}  // namespace diopigen::backend
