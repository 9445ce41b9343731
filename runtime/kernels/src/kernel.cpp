#include <diopigen_kernels/chip.h>
#include <diopigen_kernels/kernel.h>

#include <stdexcept>
#include <string>

namespace diopigen::kernels {

void Kernel::failForWriting(std::size_t position) {
    throw std::logic_error("buffer " + std::to_string(position) + " is written, but was declared as read");
}

Status runAtOnce(const Chip* chip, const char* name, const std::vector<Buffer>& buffers, const KernelFunction& kernel) {
    if (chip != nullptr) {
        Status status = admits(*chip, name, buffers.data(), buffers.size());
        if (!status.ok()) {
            return status;
        }
    }
    SmallVector<void*, 8> addresses(buffers.size());
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        addresses[i] = const_cast<void*>(buffers[i].pointer);
    }
    try {
        kernel(Kernel(addresses, buffers));
    } catch (const std::exception& error) {
        return {Code::kernelFailed, std::string(name) + ": " + error.what()};
    }
    return {};
}

}  // namespace diopigen::kernels
