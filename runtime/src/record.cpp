#include "record.h"

#include <diopigen/host.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "failure.h"

namespace diopigen {
namespace {

using Clock = std::chrono::steady_clock;

struct OpenRecord {
    std::string name;
    Clock::time_point start;
};

struct FinishedRecord {
    std::string name;
    double seconds;
};

std::atomic<bool> recordsEnabled{false};
std::mutex finishedMutex;

// A deque, so that the names handed out stay where they are. Never destroyed: operators may still end a record while
// the process exits.
std::deque<FinishedRecord>& finishedRecords() {
    static auto* const records = new std::deque<FinishedRecord>;
    return *records;
}

void clearFinishedRecords() {
    const std::lock_guard<std::mutex> lock(finishedMutex);
    finishedRecords().clear();
}

}  // namespace

void resetRecords() {
    recordsEnabled = false;
    clearFinishedRecords();
}

}  // namespace diopigen

using diopigen::guarded;
using diopigen::requireNotNull;

diopiError_t diopiRecordStart(const char* record_name, void** record) {
    return guarded(__func__, [&] {
        requireNotNull(record_name, "record_name");
        requireNotNull(record, "record");
        if (!diopigen::recordsEnabled.load(std::memory_order_relaxed)) {
            *record = nullptr;
            return;
        }
        auto open = std::make_unique<diopigen::OpenRecord>();
        open->name = record_name;
        open->start = diopigen::Clock::now();
        *record = open.release();
    });
}

diopiError_t diopiRecordEnd(void** record) {
    return guarded(__func__, [&] {
        requireNotNull(record, "record");
        if (*record == nullptr) {  // started while records were off, or ended before
            return;
        }
        const diopigen::Clock::time_point now = diopigen::Clock::now();
        const std::unique_ptr<diopigen::OpenRecord> open(static_cast<diopigen::OpenRecord*>(*record));
        *record = nullptr;
        const double seconds = std::chrono::duration<double>(now - open->start).count();
        const std::lock_guard<std::mutex> lock(diopigen::finishedMutex);
        diopigen::finishedRecords().push_back({std::move(open->name), seconds});
    });
}

diopiError_t diopiHostEnableRecords(bool enabled) {
    diopigen::recordsEnabled = enabled;
    return diopiSuccess;
}

diopiError_t diopiHostGetRecordCount(int64_t* count) {
    return guarded(__func__, [&] {
        requireNotNull(count, "count");
        const std::lock_guard<std::mutex> lock(diopigen::finishedMutex);
        *count = static_cast<int64_t>(diopigen::finishedRecords().size());
    });
}

diopiError_t diopiHostGetRecord(int64_t index, const char** name, double* seconds) {
    return guarded(__func__, [&] {
        requireNotNull(name, "name");
        requireNotNull(seconds, "seconds");
        const std::lock_guard<std::mutex> lock(diopigen::finishedMutex);
        const auto& records = diopigen::finishedRecords();
        if (index < 0 || static_cast<uint64_t>(index) >= records.size()) {
            diopigen::fail("parameter 'index' is " + std::to_string(index) + ", there are " +
                           std::to_string(records.size()) + " records");
        }
        const diopigen::FinishedRecord& found = records[static_cast<size_t>(index)];
        *name = found.name.c_str();
        *seconds = found.seconds;
    });
}

diopiError_t diopiHostClearRecords(void) {
    return guarded(__func__, [] { diopigen::clearFinishedRecords(); });
}
