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
#include "words.h"

namespace diopigen::backend {

std::atomic<bool> isWatched{false};
thread_local bool isInside = false;

namespace {

std::atomic<bool> isEnding{false};
std::thread::id endingThread;

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

void readSwitches() {
    Switches first;
    first.forced = c10::utils::get_env("DIOPI_FORCE_FALLBACK_OPS").value_or("");
    first.compared = c10::utils::get_env("DIOPI_AUTOCOMPARE").value_or("");
    first.folder = c10::utils::get_env("DIOPI_DUMP_FOLDER").value_or(first.folder);
    const std::string level = c10::utils::get_env("DIOPI_DUMP_OP_ARGS").value_or("");
    TORCH_CHECK_VALUE(level.empty() || (level.size() == 1 && level[0] >= '0' && level[0] <= '3'),
                      "DIOPI_DUMP_OP_ARGS is '", level, "': 0, 1, 2 or 3 is possible");
    first.dump = level.empty() ? 0 : level[0] - '0';
    setSwitches(first);
}

void setSwitches(const Switches& requested) {
    TORCH_CHECK_VALUE(requested.dump >= 0 && requested.dump <= 3, "DIOPI_DUMP_OP_ARGS is ", requested.dump,
                      ": 0, 1, 2 or 3 is possible");
    Expressions forced = expressions(requested.forced, "DIOPI_FORCE_FALLBACK_OPS");
    Expressions compared = expressions(requested.compared, "DIOPI_AUTOCOMPARE");
    State& now = state();
    const std::unique_lock<std::shared_mutex> lock(now.mutex);
    const bool isOn = !forced.empty() || !compared.empty() || requested.dump > 0;
    if (isOn && !now.names.has_value()) {
        now.names =
            at::addGlobalCallback(at::RecordFunctionCallback(&enter, &leave).scopes({at::RecordScope::FUNCTION}));
    } else if (!isOn && now.names.has_value()) {
        at::removeCallback(*now.names);
        now.names.reset();
    }
    now.switches = requested;
    now.forced = std::move(forced);
    now.compared = std::move(compared);
    isWatched.store(isOn, std::memory_order_relaxed);
}

void keepFunction(const char* name) { called.push_back(name); }

void parkOtherThreads() {
    endingThread = std::this_thread::get_id();
    isEnding.store(true, std::memory_order_release);
    isWatched.store(true, std::memory_order_release);
}

void watch(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
    if (C10_UNLIKELY(isEnding.load(std::memory_order_acquire) && std::this_thread::get_id() != endingThread)) {
        for (;;) {
            std::this_thread::sleep_for(std::chrono::hours(1));
        }
    }
    const std::string name = overloadName(op);
    bool isForced = false;
    bool isCompared = false;
    int64_t level = 0;
    std::string folder;
    {
        const std::shared_lock<std::shared_mutex> lock(state().mutex);
        isForced = matches(state().forced, name);
        isCompared = !isForced && matches(state().compared, name);
        level = state().switches.dump;
        folder = state().switches.folder;
    }
    const size_t count = op.schema().arguments().size();
    const torch::jit::Stack arguments(stack->end() - static_cast<std::ptrdiff_t>(count), stack->end());
    // Kernels call others; what those call is theirs to show.
    std::vector<const char*> outer;
    outer.swap(called);
    takeReason();
    if (isForced) {
        noteLeft({});
        noteReason("DIOPI_FORCE_FALLBACK_OPS names it");
        fallBack(op, stack);
    } else {
        std::optional<Comparison> comparison;
        if (isCompared) {
            comparison.emplace(op, arguments);
        }
        isInside = true;
        op.callBoxedForDispatchKey(c10::DispatchKey::PrivateUse1, *stack);
        if (comparison.has_value()) {
            comparison->compare(arguments, *stack, called, folder);
        }
    }
    const std::string reason = takeReason();
    if (level > 0) {
        show(name, arguments, op, level, reason);
    }
    called.swap(outer);
}

}  // namespace diopigen::backend
