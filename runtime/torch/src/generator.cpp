#include <ATen/EmptyTensor.h>
#include <ATen/Utils.h>
#include <diopigen_torch/capture.h>
#include <diopigen_torch/device.h>
#include <diopigen_torch/generator.h>

#include <cstring>
#include <deque>
#include <mutex>

namespace diopigen::backend {

namespace {

constexpr int64_t kStateBytes = 2 * sizeof(uint64_t);

}  // namespace

GeneratorImpl::GeneratorImpl(c10::DeviceIndex device)
    : c10::GeneratorImpl({kDeviceType, device}, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)) {}

void GeneratorImpl::set_current_seed(uint64_t seed) {
    require_uncaptured(this);
    seed_ = seed;
    offset_ = 0;
}

uint64_t GeneratorImpl::current_seed() const { return seed_; }

uint64_t GeneratorImpl::seed() {
    set_current_seed(c10::detail::getNonDeterministicRandom());
    return seed_;
}

void GeneratorImpl::set_offset(uint64_t offset) {
    require_uncaptured(this);
    offset_ = offset;
}

uint64_t GeneratorImpl::get_offset() const { return offset_; }

void GeneratorImpl::set_state(const c10::TensorImpl& state) {
    require_uncaptured(this);
    at::detail::check_rng_state(state);
    TORCH_CHECK(state.numel() == kStateBytes, "the state of a generator has ", kStateBytes, " bytes, not ",
                state.numel());
    const char* const bytes = static_cast<const char*>(state.data());
    std::memcpy(&seed_, bytes, sizeof(seed_));
    std::memcpy(&offset_, bytes + sizeof(seed_), sizeof(offset_));
}

c10::intrusive_ptr<c10::TensorImpl> GeneratorImpl::get_state() const {
    const at::TensorBase state = at::detail::empty_cpu({kStateBytes}, at::kByte);
    char* const bytes = static_cast<char*>(state.mutable_data_ptr());
    std::memcpy(bytes, &seed_, sizeof(seed_));
    std::memcpy(bytes + sizeof(seed_), &offset_, sizeof(offset_));
    return state.getIntrusivePtr();
}

GeneratorImpl* GeneratorImpl::clone_impl() const {
    auto* const copy = new GeneratorImpl(device().index());
    copy->seed_ = seed_;
    copy->offset_ = offset_;
    return copy;
}

at::Generator new_generator(c10::DeviceIndex device) {
    return at::make_generator<GeneratorImpl>(device < 0 ? current_device() : device);
}

const at::Generator& default_generator(c10::DeviceIndex device) {
    static std::mutex mutex;
    static std::deque<at::Generator> generators;
    const auto index = static_cast<size_t>(device < 0 ? current_device() : device);
    const std::lock_guard<std::mutex> lock(mutex);
    TORCH_CHECK(index < static_cast<size_t>(device_count()), "there is no device ", index);
    while (generators.size() <= index) {
        generators.push_back(new_generator(static_cast<c10::DeviceIndex>(generators.size())));
    }
    return generators[index];
}

diopiGeneratorHandle_t generator_handle(const std::optional<at::Generator>& generator, c10::DeviceIndex device) {
    const bool is_defined = generator.has_value() && generator->defined();
    c10::GeneratorImpl* const found =
        is_defined ? generator->unsafeGetGeneratorImpl() : default_generator(device).unsafeGetGeneratorImpl();
    TORCH_CHECK(found->device().type() == kDeviceType, "Expected a '", c10::Device(kDeviceType),
                "' device type for generator but found '", found->device(), "'");
    return reinterpret_cast<diopiGeneratorHandle_t>(found);
}

}  // namespace diopigen::backend
