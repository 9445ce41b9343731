#include <ATen/record_function.h>
#include <c10/util/env.h>
#include <diopigen_torch/ending.h>
#include <diopigen_torch/fallback.h>
#include <diopigen_torch/kernel.h>
#include <diopigen_torch/read_switches.h>
#include <diopigen_torch/switches.h>

#include <chrono>
#include <iostream>
#include <mutex>
#include <regex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "comparison.h"
#include "handlers.h"
#include "words.h"

namespace diopigen::backend {

std::atomic<bool> is_watched{false};
thread_local bool is_inside = false;

namespace {

std::atomic<bool> is_ending{false};
std::thread::id ending_thread;

// Operators that are running on this thread, outermost first: kernels know only their own names.
thread_local std::vector<std::string> running;
// Functions of the interface that the kernel on this thread called.
thread_local std::vector<const char*> called;

using Expressions = std::vector<std::regex>;

struct State {
    std::shared_mutex mutex;
    Switches switches;
    Expressions forced;
    Expressions compared;
    std::optional<at::CallbackHandle> names;
};

State& state() {
    static auto* const result = new State;
    return *result;
}

Expressions expressions(const std::string& text, const char* what) {
    Expressions found;
    std::string::size_type start = 0;
    while (start <= text.size() && !text.empty()) {
        const auto end = std::min(text.find(',', start), text.size());
        std::string part = text.substr(start, end - start);
        part.erase(0, part.find_first_not_of(' '));
        part.erase(part.find_last_not_of(' ') + 1);
        try {
            if (!part.empty()) {
                found.emplace_back(part);
            }
        } catch (const std::regex_error& error) {
            TORCH_CHECK_VALUE(false, what, ": '", part, "' is no regular expression: ", error.what());
        }
        start = end + 1;
    }
    return found;
}

bool matches(const Expressions& expressions, const std::string& name) {
    for (const std::regex& one : expressions) {
        if (std::regex_match(name, one)) {
            return true;
        }
        for (const std::string& outer : running) {
            if (std::regex_match(outer, one)) {
                return true;
            }
        }
    }
    return false;
}

std::unique_ptr<at::ObserverContext> enter(const at::RecordFunction& function) {
    std::string name = function.name();
    const std::string prefix = "aten::";
    running.push_back(name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : name);
    return nullptr;
}

void leave(const at::RecordFunction& /*function*/, at::ObserverContext* /*context*/) {
    if (!running.empty()) {
        running.pop_back();
    }
}

// `reason` is why the call ran on the CPU, empty where it did not.
void show(const std::string& name, const torch::jit::Stack& arguments, const c10::OperatorHandle& op, int64_t level,
          const std::string& reason) {
    std::string text;
    for (const char* const function : called) {
        text += (text.empty() ? "" : ", ") + std::string(function);
    }
    if (!reason.empty()) {
        text += (text.empty() ? "" : ", then ") + std::string("the CPU: ") + reason;
    }
    text = "diopi: " + name + " -> " + (text.empty() ? "no function" : text);
    if (level > 1) {
        const auto& schema = op.schema().arguments();
        for (size_t i = 0; i < arguments.size(); ++i) {
            text += "\n    " + schema[i].name() + ": " + describe(arguments[i], level > 2);
        }
    }
    // One write, so that lines of several threads do not mix.
    std::cerr << text + "\n";
}

}  // namespace

Switches switches() {
    const std::shared_lock<std::shared_mutex> lock(state().mutex);
    return state().switches;
}

void read_switches() {
    Switches first;
    first.forced = c10::utils::get_env("DIOPI_FORCE_FALLBACK_OPS").value_or("");
    first.compared = c10::utils::get_env("DIOPI_AUTOCOMPARE").value_or("");
    first.folder = c10::utils::get_env("DIOPI_DUMP_FOLDER").value_or(first.folder);
    const std::string level = c10::utils::get_env("DIOPI_DUMP_OP_ARGS").value_or("");
    TORCH_CHECK_VALUE(level.empty() || (level.size() == 1 && level[0] >= '0' && level[0] <= '3'),
                      "DIOPI_DUMP_OP_ARGS is '", level, "': 0, 1, 2 or 3 is possible");
    first.dump = level.empty() ? 0 : level[0] - '0';
    set_switches(first);
}

void set_switches(const Switches& requested) {
    TORCH_CHECK_VALUE(requested.dump >= 0 && requested.dump <= 3, "DIOPI_DUMP_OP_ARGS is ", requested.dump,
                      ": 0, 1, 2 or 3 is possible");
    Expressions forced = expressions(requested.forced, "DIOPI_FORCE_FALLBACK_OPS");
    Expressions compared = expressions(requested.compared, "DIOPI_AUTOCOMPARE");
    State& now = state();
    const std::unique_lock<std::shared_mutex> lock(now.mutex);
    const bool is_on = !forced.empty() || !compared.empty() || requested.dump > 0;
    if (is_on && !now.names.has_value()) {
        now.names =
            at::addGlobalCallback(at::RecordFunctionCallback(&enter, &leave).scopes({at::RecordScope::FUNCTION}));
    } else if (!is_on && now.names.has_value()) {
        at::removeCallback(*now.names);
        now.names.reset();
    }
    now.switches = requested;
    now.forced = std::move(forced);
    now.compared = std::move(compared);
    is_watched.store(is_on, std::memory_order_relaxed);
}

void keep_function(const char* name) { called.push_back(name); }

void park_other_threads() {
    ending_thread = std::this_thread::get_id();
    is_ending.store(true, std::memory_order_release);
    is_watched.store(true, std::memory_order_release);
}

void watch(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    if (C10_UNLIKELY(is_ending.load(std::memory_order_acquire) && std::this_thread::get_id() != ending_thread)) {
        for (;;) {
            std::this_thread::sleep_for(std::chrono::hours(1));
        }
    }
    const std::string name = overload_name(op);
    bool is_forced = false;
    bool is_compared = false;
    int64_t level = 0;
    std::string folder;
    {
        const std::shared_lock<std::shared_mutex> lock(state().mutex);
        is_forced = matches(state().forced, name);
        is_compared = !is_forced && matches(state().compared, name);
        level = state().switches.dump;
        folder = state().switches.folder;
    }
    const size_t count = op.schema().arguments().size();
    const torch::jit::Stack arguments(stack->end() - static_cast<std::ptrdiff_t>(count), stack->end());
    // Kernels call others; what those call is theirs to show.
    std::vector<const char*> outer;
    outer.swap(called);
    take_reason();
    if (is_forced) {
        note_left({});
        note_reason("DIOPI_FORCE_FALLBACK_OPS names it");
        fall_back(op, stack);
    } else {
        std::optional<Comparison> comparison;
        if (is_compared) {
            comparison.emplace(op, arguments);
        }
        is_inside = true;
        op.callBoxedForDispatchKey(c10::DispatchKey::PrivateUse1, *stack);
        if (comparison.has_value()) {
            comparison->compare(arguments, *stack, called, folder);
        }
    }
    const std::string reason = take_reason();
    if (level > 0) {
        show(name, arguments, op, level, reason);
    }
    called.swap(outer);
}

}  // namespace diopigen::backend
