// What the headers promise to several threads. Also built with the thread sanitizer. Runs on the host device.
#include <diopigen/device.h>
#include <diopigen/host.h>
#include <diopigen/host_device.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

TEST_SUITE_BEGIN("threads");

namespace {

constexpr int threadCount = 4;
constexpr int rounds = 200;

template <class Body>
void inThreads(const Body& body) {
    std::vector<std::thread> threads;
    for (int number = 0; number < threadCount; ++number) {
        threads.emplace_back([&body, number] { body(number); });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

}  // namespace

TEST_CASE_FIXTURE(check::FakeDevice, "seed_and_offset_change_together") {
    diopiGeneratorHandle_t generator = nullptr;
    CHECK_OK(diopiHostCreateGenerator(&generator, 0, 0));
    std::atomic<int> torn{0};
    inThreads([&](int number) {
        for (int round = 0; round < rounds; ++round) {
            const auto value = static_cast<uint64_t>(number * rounds + round);
            diopiGeneratorSetSeedAndOffset(generator, value, value);
            uint64_t seed = 0;
            uint64_t offset = 1;
            diopiGeneratorGetSeedAndOffset(generator, &seed, &offset);
            torn += seed == offset ? 0 : 1;
        }
    });
    CHECK_EQ(torn.load(), 0);
    CHECK_OK(diopiHostDestroyGenerator(generator));
}

TEST_CASE_FIXTURE(check::FakeDevice, "contexts_of_their_own") {
    CHECK_EQ(diopigenRegisterHostDevice(), 0);
    inThreads([](int number) {
        diopiContextHandle_t context = nullptr;
        CHECK_OK(diopiHostCreateContext(&context));
        const int64_t length = 8;
        const diopiSize_t size{&length, 1};
        for (int round = 0; round < rounds; ++round) {
            // Registration may happen at any time.
            CHECK_EQ(diopigenRegisterHostDevice(), 0);
            diopiTensorHandle_t tensor = nullptr;
            CHECK_OK(diopiRequireTensor(context, &tensor, &size, nullptr, diopi_dtype_int64, diopi_device));
            const std::vector<int64_t> written(8, number * rounds + round);
            std::vector<int64_t> read(8);
            CHECK_OK(diopiHostCopyToStorage(context, tensor, written.data(), 64));
            CHECK_OK(diopiHostCopyFromStorage(context, tensor, read.data(), 64));
            CHECK(read == written);
        }
        CHECK_OK(diopiHostDestroyContext(context));
    });
}

TEST_CASE_FIXTURE(check::FakeDevice, "error_texts_of_their_own") {
    inThreads([](int number) {
        for (int round = 0; round < rounds; ++round) {
            if (number % 2 == 0) {
                CHECK_FAILS(diopiGetStream(nullptr, nullptr), diopiErrorOccurred,
                            "diopiGetStream: parameter 'ctx' is null");
            } else {
                CHECK_FAILS(diopiHostDestroyTensor(nullptr), diopiErrorOccurred,
                            "diopiHostDestroyTensor: parameter 'tensor' is null");
            }
        }
    });
}

TEST_CASE_FIXTURE(check::FakeDevice, "records") {
    CHECK_OK(diopiHostEnableRecords(true));
    inThreads([](int number) {
        const std::string name = "operator " + std::to_string(number);
        for (int round = 0; round < rounds; ++round) {
            void* record = nullptr;
            CHECK_OK(diopiRecordStart(name.c_str(), &record));
            CHECK_OK(diopiRecordEnd(&record));
        }
    });
    int64_t count = 0;
    CHECK_OK(diopiHostGetRecordCount(&count));
    CHECK_EQ(count, threadCount * rounds);
}

TEST_SUITE_END();
