// The random generator of a device: a seed and an offset, as counter-based generators have them.
#ifndef DIOPIGEN_TORCH_GENERATOR_H_
#define DIOPIGEN_TORCH_GENERATOR_H_

#include <ATen/core/Generator.h>
#include <c10/core/GeneratorImpl.h>
#include <diopi/diopirt.h>

namespace diopigen::backend {

class GeneratorImpl final : public c10::GeneratorImpl {
  public:
    explicit GeneratorImpl(c10::DeviceIndex device);

    void set_current_seed(uint64_t seed) override;
    uint64_t current_seed() const override;
    uint64_t seed() override;
    void set_offset(uint64_t offset) override;
    uint64_t get_offset() const override;
    /// 16 bytes of uint8 on the CPU: seed, then offset.
    void set_state(const c10::TensorImpl& state) override;
    c10::intrusive_ptr<c10::TensorImpl> get_state() const override;

    static c10::DeviceType device_type() { return c10::DeviceType::PrivateUse1; }

  private:
    GeneratorImpl* clone_impl() const override;

    uint64_t seed_ = c10::default_rng_seed_val;
    uint64_t offset_ = 0;
};

at::Generator new_generator(c10::DeviceIndex device);
/// The generator that operators of a device use where none is given.
const at::Generator& default_generator(c10::DeviceIndex device);
/// The handle that an operator gets: of `generator`, or else of the device's own. Throws for one of another device.
diopiGeneratorHandle_t generator_handle(const std::optional<at::Generator>& generator, c10::DeviceIndex device);

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_GENERATOR_H_
