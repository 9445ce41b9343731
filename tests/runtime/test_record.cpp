// Records of how long operators take.
#include <diopigen/host.h>

#include <chrono>
#include <string>
#include <thread>

#include "check.h"

TEST_SUITE_BEGIN("record");

namespace {

int64_t recordCount() {
    int64_t count = -1;
    CHECK_OK(diopiHostGetRecordCount(&count));
    return count;
}

}  // namespace

TEST_CASE_FIXTURE(check::FakeDevice, "off_at_first") {
    int anything = 0;
    void* record = &anything;
    CHECK_OK(diopiRecordStart("diopiAdd", &record));
    CHECK(record == nullptr);
    CHECK_OK(diopiRecordEnd(&record));
    CHECK_EQ(recordCount(), 0);
}

TEST_CASE_FIXTURE(check::FakeDevice, "name_and_time") {
    CHECK_OK(diopiHostEnableRecords(true));
    void* outer = nullptr;
    void* inner = nullptr;
    const auto before = std::chrono::steady_clock::now();
    {
        std::string name = "diopiAdd";
        CHECK_OK(diopiRecordStart(name.c_str(), &outer));
        name = "overwritten by the caller";
    }
    CHECK_OK(diopiRecordStart("diopiMul", &inner));
    CHECK(outer != nullptr);
    CHECK(inner != nullptr);
    CHECK(inner != outer);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CHECK_OK(diopiRecordEnd(&inner));
    CHECK(inner == nullptr);
    CHECK_OK(diopiRecordEnd(&outer));
    const double elapsed = std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();

    CHECK_EQ(recordCount(), 2);
    const char* name = nullptr;
    double innerSeconds = 0;
    double outerSeconds = 0;
    CHECK_OK(diopiHostGetRecord(0, &name, &innerSeconds));
    CHECK_EQ(std::string(name), "diopiMul");
    CHECK_OK(diopiHostGetRecord(1, &name, &outerSeconds));
    CHECK_EQ(std::string(name), "diopiAdd");
    CHECK(innerSeconds >= 0.005);
    CHECK(outerSeconds >= innerSeconds);
    CHECK(outerSeconds <= elapsed);

    // Ending once more changes nothing.
    CHECK_OK(diopiRecordEnd(&outer));
    CHECK_EQ(recordCount(), 2);
    CHECK_OK(diopiHostClearRecords());
    CHECK_EQ(recordCount(), 0);
}

TEST_CASE_FIXTURE(check::FakeDevice, "a_record_started_before_the_switch_ends_after_it") {
    CHECK_OK(diopiHostEnableRecords(true));
    void* record = nullptr;
    CHECK_OK(diopiRecordStart("diopiAdd", &record));
    CHECK_OK(diopiHostEnableRecords(false));
    CHECK_OK(diopiRecordEnd(&record));
    CHECK_EQ(recordCount(), 1);
    CHECK_OK(diopiHostReset());
    CHECK_EQ(recordCount(), 0);
}

TEST_CASE_FIXTURE(check::FakeDevice, "reset_switches_off") {
    CHECK_OK(diopiHostEnableRecords(true));
    CHECK_OK(diopiHostReset());
    void* record = nullptr;
    CHECK_OK(diopiRecordStart("diopiAdd", &record));
    CHECK(record == nullptr);
}

TEST_CASE_FIXTURE(check::FakeDevice, "wrong_arguments") {
    CHECK_OK(diopiHostEnableRecords(true));
    void* record = nullptr;
    const char* name = "unchanged";
    double seconds = -1;
    CHECK_FAILS(diopiRecordStart(nullptr, &record), diopiErrorOccurred,
                "diopiRecordStart: parameter 'record_name' is null");
    CHECK_FAILS(diopiRecordStart("diopiAdd", nullptr), diopiErrorOccurred,
                "diopiRecordStart: parameter 'record' is null");
    CHECK_FAILS(diopiRecordEnd(nullptr), diopiErrorOccurred, "diopiRecordEnd: parameter 'record' is null");
    CHECK_FAILS(diopiHostGetRecordCount(nullptr), diopiErrorOccurred,
                "diopiHostGetRecordCount: parameter 'count' is null");
    CHECK_FAILS(diopiHostGetRecord(0, nullptr, &seconds), diopiErrorOccurred,
                "diopiHostGetRecord: parameter 'name' is null");
    CHECK_FAILS(diopiHostGetRecord(0, &name, nullptr), diopiErrorOccurred,
                "diopiHostGetRecord: parameter 'seconds' is null");
    CHECK_FAILS(diopiHostGetRecord(0, &name, &seconds), diopiErrorOccurred,
                "diopiHostGetRecord: parameter 'index' is 0, there are 0 records");
    CHECK_FAILS(diopiHostGetRecord(-1, &name, &seconds), diopiErrorOccurred,
                "diopiHostGetRecord: parameter 'index' is -1, there are 0 records");
    CHECK_EQ(std::string(name), "unchanged");
    CHECK_EQ(seconds, -1.0);
}

TEST_SUITE_END();
