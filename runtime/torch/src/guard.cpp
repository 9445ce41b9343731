// Device guard, hooks and allocator, registered with PyTorch.
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <diopigen_torch/allocator.h>
#include <diopigen_torch/device.h>
#include <diopigen_torch/generator.h>

namespace diopigen::backend {

namespace {

class Guard final : public c10::impl::DeviceGuardImplInterface {
  public:
    c10::DeviceType type() const override { return kDeviceType; }

    c10::Device exchangeDevice(c10::Device device) const override {
        const c10::Device before = getDevice();
        setDevice(device);
        return before;
    }
    c10::Device getDevice() const override { return {kDeviceType, current_device()}; }
    void setDevice(c10::Device device) const override {
        if (device.has_index()) {
            set_current_device(device.index());
        }
    }
    void uncheckedSetDevice(c10::Device device) const noexcept override {
        try {
            setDevice(device);
        } catch (const std::exception&) {
            // A destructor asks: an error cannot be reported.
        }
    }
    c10::DeviceIndex deviceCount() const noexcept override { return backend::device_count(); }
    // The dtypes of the interface, and those of PyTorch that the fallback computes on copies.
    c10::DeviceCapability getDeviceCapability(c10::Device /*device*/) const override {
        c10::DeviceCapability capability;
        capability.capability_data.capability_bits =
            1ULL << c10::kIndex_Bool | 1ULL << c10::kIndex_Byte | 1ULL << c10::kIndex_Char | 1ULL << c10::kIndex_Short |
            1ULL << c10::kIndex_Int | 1ULL << c10::kIndex_Long | 1ULL << c10::kIndex_Half |
            1ULL << c10::kIndex_BFloat16 | 1ULL << c10::kIndex_Float | 1ULL << c10::kIndex_Double |
            1ULL << c10::kIndex_ComplexFloat | 1ULL << c10::kIndex_ComplexDouble;
        return capability;
    }
    void synchronizeDevice(const c10::DeviceIndex device) const override { backend::synchronize_device(device); }

    c10::Stream getStream(c10::Device device) const override { return current_stream(device.index()); }
    c10::Stream getDefaultStream(c10::Device device) const override { return default_stream(device.index()); }
    c10::Stream getStreamFromGlobalPool(c10::Device device, bool /*isHighPriority*/) const override {
        return new_stream(device.index());
    }
    c10::Stream getNewStream(c10::Device device, int /*priority*/) const override { return new_stream(device.index()); }
    c10::Stream exchangeStream(c10::Stream stream) const override { return backend::exchange_stream(stream); }
    void* getStreamNativeHandle(const c10::Stream stream) const override { return handle_of(stream); }
    bool queryStream(const c10::Stream& stream) const override {
        Event event;
        event.record(stream);
        return event.query();
    }
    void synchronizeStream(const c10::Stream& stream) const override { synchronize(stream); }

    void record(void** event, const c10::Stream& stream, const c10::DeviceIndex /*device*/,
                const c10::EventFlag /*flag*/) const override {
        if (*event == nullptr) {
            *event = new Event;
        }
        static_cast<Event*>(*event)->record(stream);
    }
    void block(void* event, const c10::Stream& stream) const override {
        if (event != nullptr) {
            static_cast<Event*>(event)->block(stream);
        }
    }
    bool queryEvent(void* event) const override { return event == nullptr || static_cast<Event*>(event)->query(); }
    void synchronizeEvent(void* event) const override {
        if (event != nullptr) {
            static_cast<Event*>(event)->synchronize();
        }
    }
    void destroyEvent(void* event, const c10::DeviceIndex /*device*/) const noexcept override {
        delete static_cast<Event*>(event);
    }
    double elapsedTime(void* start, void* end, const c10::DeviceIndex /*device*/) const override {
        TORCH_CHECK(start != nullptr && end != nullptr,
                    "Both events must be recorded before calculating elapsed time.");
        return static_cast<Event*>(start)->elapsed_milliseconds(*static_cast<Event*>(end));
    }
    void recordDataPtrOnStream(const c10::DataPtr& data, const c10::Stream& stream) const override {
        device_allocator().recordStream(data, stream);
    }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

class Hooks final : public at::PrivateUse1HooksInterface {
  public:
    bool isBuilt() const override { return true; }
    bool isAvailable() const override { return backend::device_count() > 0; }
    bool hasPrimaryContext(c10::DeviceIndex /*device*/) const override { return is_initialized(); }
    void init() const override { initialize(); }
    c10::DeviceIndex deviceCount() const override { return backend::device_count(); }
    void setCurrentDevice(c10::DeviceIndex device) const override { backend::set_current_device(device); }
    c10::DeviceIndex getCurrentDevice() const override { return current_device(); }
    c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
        const c10::DeviceIndex before = current_device();
        backend::set_current_device(device);
        return before;
    }
    c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override {
        return device < 0 ? current_device() : exchangeDevice(device);
    }
    bool isPinnedPtr(const void* data) const override { return is_pinned(data); }
    c10::Allocator* getPinnedMemoryAllocator() const override { return &pinned_allocator(); }
    c10::Device getDeviceFromPtr(void* /*data*/) const override { return {kDeviceType, current_device()}; }
    const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override {
        return default_generator(device);
    }
    at::Generator getNewGenerator(c10::DeviceIndex device) const override { return new_generator(device); }
    void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override;
};

void Hooks::resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const {
    c10::StorageImpl* const impl = storage.unsafeGetStorageImpl();
    TORCH_CHECK(impl->resizable(), "Trying to resize storage that is not resizable");
    const c10::OptionalDeviceGuard guard(impl->device());
    const c10::DeviceIndex device = impl->device().index();
    c10::DataPtr data = device_allocator().allocate(bytes);
    copy_on_device(current_handle(device), data.get(), impl->data(), std::min(bytes, impl->nbytes()));
    impl->set_data_ptr_noswap(std::move(data));
    impl->set_nbytes(bytes);
}

// In one place, since each of these has to be there before the first tensor is made.
[[maybe_unused]] const bool kGuardRegistered = [] {
    c10::SetAllocator(kDeviceType, &device_allocator());
    at::RegisterPrivateUse1HooksInterface(new Hooks);
    return true;
}();

}  // namespace

}  // namespace diopigen::backend
