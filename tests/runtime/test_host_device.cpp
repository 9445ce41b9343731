// The device made of host memory.
#include <diopigen/host_device.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "scope.h"

TEST_SUITE_BEGIN("host_device");

using check::ContextScope;

namespace {

// ContextScope registers the fake before it destroys the context; memory of the host device must be gone by then.
class HostDeviceScope {
  public:
    HostDeviceScope() {
        CHECK_EQ(diopigenRegisterHostDevice(), 0);
        CHECK_OK(diopiHostCreateContext(&handle_));
    }
    ~HostDeviceScope() { CHECK_OK(diopiHostDestroyContext(handle_)); }
    HostDeviceScope(const HostDeviceScope&) = delete;
    HostDeviceScope& operator=(const HostDeviceScope&) = delete;
    operator diopiContextHandle_t() const { return handle_; }

  private:
    diopiContextHandle_t handle_ = nullptr;
};

}  // namespace

TEST_CASE_FIXTURE(check::FakeDevice, "memory_and_copies") {
    const HostDeviceScope context;
    const int64_t length = 3;
    const diopiSize_t size{&length, 1};
    diopiTensorHandle_t first = nullptr;
    diopiTensorHandle_t second = nullptr;
    CHECK_OK(diopiRequireTensor(context, &first, &size, nullptr, diopi_dtype_int32, diopi_device));
    CHECK_OK(diopiRequireTensor(context, &second, &size, nullptr, diopi_dtype_int32, diopi_device));
    void* data = nullptr;
    CHECK_OK(diopiGetTensorData(first, &data));
    CHECK_EQ(reinterpret_cast<uintptr_t>(data) % 64, 0u);
    const int32_t written[3] = {4, 5, 6};
    int32_t read[3] = {};
    CHECK_OK(diopiHostCopyToStorage(context, first, written, sizeof(written)));
    CHECK_EQ(std::memcmp(data, written, sizeof(written)), 0);
    CHECK_OK(diopiHostCopyStorage(context, second, first));
    CHECK_OK(diopiHostCopyFromStorage(context, second, read, sizeof(read)));
    CHECK_EQ(std::memcmp(read, written, sizeof(read)), 0);
    CHECK_EQ(fake::calls(fake::Function::allocate), 0);
}

TEST_CASE_FIXTURE(check::FakeDevice, "streams_are_told_apart") {
    const HostDeviceScope one;
    const HostDeviceScope other;
    diopiStreamHandle_t first = nullptr;
    diopiStreamHandle_t second = nullptr;
    CHECK_OK(diopiGetStream(one, &first));
    CHECK_OK(diopiGetStream(other, &second));
    CHECK(first != nullptr);
    CHECK(first != second);
    CHECK_OK(diopiHostSynchronize(one));
}

TEST_CASE_FIXTURE(check::FakeDevice, "errors_have_a_text") {
    const HostDeviceScope context;
    diopiTensorHandle_t tensor = nullptr;
    CHECK_FAILS(diopiRequireBuffer(context, &tensor, int64_t{1} << 60, diopi_device), diopiErrorOccurred,
                "diopiRequireBuffer: out of device memory: 1152921504606846976 bytes: out of host memory");
    const char* text = nullptr;
    CHECK_OK(diopiHostGetDeviceErrorText(&text));
    CHECK_EQ(std::string(text), "out of host memory");
}

TEST_SUITE_END();
