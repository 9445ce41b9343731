#include "left.h"

#include <diopigen/left_call.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "error_text.h"
#include "json_text.h"
#include "libraries.h"

namespace diopigen::dispatch {

namespace {

// By operator, status and text. Programs that run for days with ever other shapes must not fill the memory.
using Counts = std::map<std::tuple<std::string, std::string, std::string>, uint64_t>;
constexpr size_t kMostLines = 4096;

struct Report {
    std::mutex mutex;
    std::string path;
    pid_t process = 0;  // a forked child has the counts of its parent, which writes them itself
    Counts counts;
};

// Never destroyed: other threads may still call operators when the process ends.
Report& report() {
    static auto* const created = new Report;
    return *created;
}

void write() {
    Report& all = report();
    const std::lock_guard<std::mutex> lock(all.mutex);
    if (getpid() != all.process || all.counts.empty()) {
        return;
    }
    std::string lines;
    for (const auto& [key, calls] : all.counts) {
        const auto& [function, status, text] = key;
        lines += "{\"function\": " + quoted(function) + ", \"status\": " + quoted(status) +
                 ", \"reason\": " + quoted(text) + ", \"calls\": " + std::to_string(calls) + "}\n";
    }
    all.counts.clear();
    std::ofstream file(all.path, std::ios::app);
    file.write(lines.data(), static_cast<std::streamsize>(lines.size()));
    if (!file.flush()) {
        say("cannot write " + all.path + " (DIOPI_FALLBACK_REPORT)");
    }
}

}  // namespace

std::optional<Left> left_with(const Entry& entry, diopiError_t status) {
    if (!is_left(status)) {
        return std::nullopt;
    }
    if (entry.vendor == nullptr) {
        return Left{};
    }
    return Left{name_of(status), reason_of(vendor_error_text(), entry.name)};
}

std::string describe(const Left& left) {
    if (left.is_missing()) {
        return "no such function";
    }
    return left.text.empty() ? std::string(left.status) + " without a text" : left.status + (": " + left.text);
}

void report_fallbacks(const std::string& path) {
    if (!std::ofstream(path, std::ios::app)) {
        throw Failure(diopiErrorOccurred, "DIOPI_FALLBACK_REPORT is '" + path + "', which cannot be written");
    }
    Report& all = report();
    const std::lock_guard<std::mutex> lock(all.mutex);
    all.path = path;
    all.process = getpid();
    std::atexit(&write);
}

void count_fallback(const Entry& entry, const Left& left) {
    Report& all = report();
    const std::lock_guard<std::mutex> lock(all.mutex);
    Counts::key_type key{entry.name, left.is_missing() ? "" : left.status, left.text};
    if (all.counts.size() >= kMostLines && all.counts.count(key) == 0) {
        std::get<2>(key) = "other reasons";
    }
    ++all.counts[std::move(key)];
}

}  // namespace diopigen::dispatch
