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

std::atomic<bool> records_enabled{false};
std::mutex finished_mutex;

// A deque, so that the names handed out stay where they are. Never destroyed: operators may still end a record while
// the process exits.
std::deque<FinishedRecord>& finished_records() {
    static auto* const records = new std::deque<FinishedRecord>;
    return *records;
}

void clear_finished_records() {
    const std::lock_guard<std::mutex> lock(finished_mutex);
    finished_records().clear();
}

}  // namespace

void reset_records() {
    records_enabled = false;
    clear_finished_records();
}

}  // namespace diopigen

using diopigen::guarded;
using diopigen::require_not_null;

diopiError_t diopiRecordStart(const char* record_name, void** record) {
    return guarded(__func__, [&] {
        require_not_null(record_name, "record_name");
        require_not_null(record, "record");
        if (!diopigen::records_enabled.load(std::memory_order_relaxed)) {
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
        require_not_null(record, "record");
        if (*record == nullptr) {  // started while records were off, or ended before
            return;
        }
        const diopigen::Clock::time_point now = diopigen::Clock::now();
        const std::unique_ptr<diopigen::OpenRecord> open(static_cast<diopigen::OpenRecord*>(*record));
        *record = nullptr;
        const double seconds = std::chrono::duration<double>(now - open->start).count();
        const std::lock_guard<std::mutex> lock(diopigen::finished_mutex);
        diopigen::finished_records().push_back({std::move(open->name), seconds});
    });
}

diopiError_t diopiHostEnableRecords(bool enabled) {
    diopigen::records_enabled = enabled;
    return diopiSuccess;
}

diopiError_t diopiHostGetRecordCount(int64_t* count) {
    return guarded(__func__, [&] {
        require_not_null(count, "count");
        const std::lock_guard<std::mutex> lock(diopigen::finished_mutex);
        *count = static_cast<int64_t>(diopigen::finished_records().size());
    });
}

diopiError_t diopiHostGetRecord(int64_t index, const char** name, double* seconds) {
    return guarded(__func__, [&] {
        require_not_null(name, "name");
        require_not_null(seconds, "seconds");
        const std::lock_guard<std::mutex> lock(diopigen::finished_mutex);
        const auto& records = diopigen::finished_records();
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
    return guarded(__func__, [] { diopigen::clear_finished_records(); });
}
