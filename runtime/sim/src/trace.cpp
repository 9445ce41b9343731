#include <diopigen_sim/trace.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "system.h"
#include "trace_log.h"

namespace diopigen::sim {
namespace {

constexpr std::size_t kMaxRecords = 1'000'000;

struct Log {
    std::atomic<bool> enabled{false};
    std::mutex mutex;
    std::vector<TraceRecord> records;
    uint64_t dropped = 0;
};

Log& log() {
    static Log* const made = new Log;  // outlives static destructors
    return *made;
}

std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char letter : text) {
        if (letter == '"' || letter == '\\') {
            result += '\\';
            result += letter;
        } else if (static_cast<unsigned char>(letter) < 0x20) {
            char escaped[8];
            std::snprintf(escaped, sizeof(escaped), "\\u%04x", static_cast<unsigned>(letter));
            result += escaped;
        } else {
            result += letter;
        }
    }
    return result + '"';
}

std::string microseconds(double seconds) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.3f", seconds * 1e6);
    return text;
}

std::string nameEvent(const char* kind, int device, int stream, const std::string& name) {
    return std::string("{\"ph\": \"M\", \"name\": \"") + kind + "\", \"pid\": " + std::to_string(device) +
           ", \"tid\": " + std::to_string(stream) + ", \"args\": {\"name\": " + quoted(name) + "}}";
}

}  // namespace

double secondsNow() {
    static const auto origin = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - origin).count();
}

void setLogEnabled(bool enabled) { log().enabled = enabled; }

void logWork(const Task& task, double start, double end, int device, int stream) {
    Log& shared = log();
    if (!shared.enabled) {
        return;
    }
    const std::lock_guard<std::mutex> lock(shared.mutex);
    if (shared.records.size() >= kMaxRecords) {
        ++shared.dropped;
        return;
    }
    shared.records.push_back({start, end, device, stream, task.name, task.bytes});
}

Status enableTrace(bool enabled) {
    System* system = nullptr;
    const Status status = System::get(&system);
    if (status.ok()) {
        setLogEnabled(enabled);
    }
    return status;
}

std::vector<TraceRecord> takeRecords(uint64_t* dropped) {
    Log& shared = log();
    const std::lock_guard<std::mutex> lock(shared.mutex);
    if (dropped != nullptr) {
        *dropped = shared.dropped;
    }
    shared.dropped = 0;
    return std::exchange(shared.records, {});
}

std::string chromeTrace(const std::vector<TraceRecord>& records, uint64_t dropped) {
    std::set<int> devices;
    std::set<std::pair<int, int>> streams;
    for (const TraceRecord& record : records) {
        devices.insert(record.device);
        streams.emplace(record.device, record.stream);
    }
    std::vector<std::string> events;
    for (const int device : devices) {
        events.push_back(nameEvent("process_name", device, 0, "device " + std::to_string(device)));
    }
    for (const auto& [device, stream] : streams) {
        events.push_back(nameEvent("thread_name", device, stream, "stream " + std::to_string(stream)));
    }
    for (const TraceRecord& record : records) {
        events.push_back("{\"ph\": \"X\", \"name\": " + quoted(record.name) + ", \"ts\": " +
                         microseconds(record.start) + ", \"dur\": " + microseconds(record.end - record.start) +
                         ", \"pid\": " + std::to_string(record.device) + ", \"tid\": " + std::to_string(record.stream) +
                         ", \"args\": {\"bytes\": " + std::to_string(record.bytes) + "}}");
    }
    std::string text = "{\"displayTimeUnit\": \"ms\", \"otherData\": {\"dropped\": " + std::to_string(dropped) +
                       "}, \"traceEvents\": [";
    for (std::size_t i = 0; i < events.size(); ++i) {
        text += (i == 0 ? "\n" : ",\n") + events[i];
    }
    return text + "\n]}\n";
}

Status writeTrace(const std::string& path) {
    std::string text;
    {
        Log& shared = log();
        const std::lock_guard<std::mutex> lock(shared.mutex);
        text = chromeTrace(shared.records, shared.dropped);
    }
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "w"), std::fclose);
    if (file == nullptr || std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
        std::fflush(file.get()) != 0) {
        return {Code::invalidArgument, "DIOPI_SIM_TRACE: cannot write '" + path + "': " + std::strerror(errno)};
    }
    return {};
}

}  // namespace diopigen::sim
