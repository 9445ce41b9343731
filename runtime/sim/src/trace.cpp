#include <diopigen_sim/trace.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <utility>

#include "system.h"
#include "trace_file.h"
#include "trace_log.h"

namespace diopigen::sim {
namespace {

constexpr std::size_t kMaxRecords = 1'000'000;

struct Log {
    std::atomic<bool> keeps{false};
    std::atomic<TraceFile*> file{nullptr};
    std::mutex mutex;
    std::vector<TraceRecord> records;
    uint64_t dropped = 0;
};

Log& log() {
    static Log* const created = new Log;  // outlives static destructors
    return *created;
}

}  // namespace

double seconds_now() {
    static const auto origin = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - origin).count();
}

bool keeps_log() { return log().keeps || log().file != nullptr; }

void log_work(TraceRecord record) {
    Log& shared = log();
    TraceFile* const file = shared.file;
    if (file != nullptr) {
        file->add(record);
    }
    if (shared.keeps) {
        const std::lock_guard<std::mutex> lock(shared.mutex);
        if (shared.records.size() < kMaxRecords) {
            shared.records.push_back(std::move(record));
        } else {
            ++shared.dropped;
        }
    }
}

void open_trace_file(const std::string& path) { log().file = new TraceFile(path); }

Status write_trace_file() {
    TraceFile* const file = log().file;
    return file == nullptr ? Status() : file->write();
}

Status enableTrace(bool enabled) {
    System* system = nullptr;
    const Status status = System::get(&system);
    if (status.ok()) {
        log().keeps = enabled;
    }
    return status;
}

std::vector<TraceRecord> takeRecords(uint64_t* dropped) {
    Log& shared = log();
    const std::lock_guard<std::mutex> lock(shared.mutex);
    const uint64_t lost = std::exchange(shared.dropped, 0);
    if (dropped != nullptr) {
        *dropped = lost;
    }
    return std::exchange(shared.records, {});
}

}  // namespace diopigen::sim
