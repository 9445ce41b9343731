// Device times for torch.profiler: events on the stream before and after each operator.
#include <c10/util/ApproximateClock.h>
#include <diopigen_torch/device.h>
#include <torch/csrc/profiler/stubs/base.h>

namespace diopigen::backend {

namespace {

constexpr float kMicroseconds = 1000.0F;

class Stubs final : public torch::profiler::impl::ProfilerStubs {
  public:
    void record(c10::DeviceIndex* device, torch::profiler::impl::ProfilerVoidEventStub* event,
                int64_t* nanoseconds) const override {
        if (device != nullptr) {
            *device = current_device();
        }
        auto result = std::make_shared<Event>();
        result->record(current_stream(current_device()));
        *event = std::move(result);
        if (nanoseconds != nullptr) {
            *nanoseconds = c10::getTime();
        }
    }

    float elapsed(const torch::profiler::impl::ProfilerVoidEventStub* start,
                  const torch::profiler::impl::ProfilerVoidEventStub* end) const override {
        const auto* const first = static_cast<const Event*>(start->get());
        const auto* const last = static_cast<const Event*>(end->get());
        first->synchronize();
        last->synchronize();
        return static_cast<float>(first->elapsed_milliseconds(*last)) * kMicroseconds;
    }

    // The device has no marks of its own.
    void mark(const char* /*name*/) const override {}
    void rangePush(const char* /*name*/) const override {}
    void rangePop() const override {}

    bool enabled() const override { return device_count() > 0; }

    void onEachDevice(std::function<void(int)> action) const override {
        for (c10::DeviceIndex device = 0; device < device_count(); ++device) {
            const WithDevice here(device);
            action(device);
        }
    }

    void synchronize() const override { synchronize_device(current_device()); }
};

[[maybe_unused]] const bool kProfilerRegistered = [] {
    static Stubs stubs;
    torch::profiler::impl::registerPrivateUse1Methods(&stubs);
    return true;
}();

}  // namespace

}  // namespace diopigen::backend
