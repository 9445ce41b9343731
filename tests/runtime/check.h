// What the tests of the runtime check in addition to doctest's assertions.
#ifndef DIOPIGEN_TESTS_RUNTIME_CHECK_H_
#define DIOPIGEN_TESTS_RUNTIME_CHECK_H_

#include <diopi/diopirt.h>
#include <diopigen/host.h>
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "fake_device.h"

namespace check {

/// Text of the last error of this thread.
inline std::string lastError() {
    const char* text = nullptr;
    return diopiHostGetLastErrorText(&text) == diopiSuccess && text != nullptr ? text : "<no text>";
}

/// The values as the interface wants them; they must outlive the result.
inline diopiSize_t sizeOf(const std::vector<int64_t>& values) {
    return diopiSize_t{values.empty() ? nullptr : values.data(), static_cast<int64_t>(values.size())};
}

inline std::vector<int64_t> valuesOf(const diopiSize_t& size) {
    return std::vector<int64_t>(size.data, size.data + size.len);
}

// The call returns success; otherwise its error text is printed.
#define CHECK_OK(call)                                                                                   \
    do {                                                                                                 \
        const diopiError_t status_ = (call);                                                             \
        CHECK_MESSAGE(status_ == diopiSuccess, #call " returned ", status_, ": ", ::check::lastError()); \
    } while (false)

// The call returns this status and leaves exactly this text.
#define CHECK_FAILS(call, status, text)                                                   \
    do {                                                                                  \
        const diopiError_t status_ = (call);                                              \
        CHECK_MESSAGE(status_ == (status), #call);                                        \
        CHECK_MESSAGE(::check::lastError() == std::string(text), "error text of " #call); \
    } while (false)

/// The fixture of every test: it starts with the fake device registered and must leave no memory and no stream, and
/// nothing may have been freed while work was pending.
class FakeDevice {
  public:
    FakeDevice() {
        fake::reset();
        fake::registerAll();
    }
    ~FakeDevice() {
        uint64_t hostBytes = 0;
        uint64_t deviceBytes = 0;
        CHECK_OK(diopiHostGetLiveBytes(diopi_host, &hostBytes));
        CHECK_OK(diopiHostGetLiveBytes(diopi_device, &deviceBytes));
        CHECK_EQ(hostBytes, 0u);
        CHECK_EQ(deviceBytes, 0u);
        CHECK_EQ(fake::liveAllocations(), 0);
        CHECK_EQ(fake::liveStreams(), 0);
        CHECK_EQ(fake::tooEarly(), 0);
    }
    FakeDevice(const FakeDevice&) = delete;
    FakeDevice& operator=(const FakeDevice&) = delete;
};

}  // namespace check

#endif  // DIOPIGEN_TESTS_RUNTIME_CHECK_H_
