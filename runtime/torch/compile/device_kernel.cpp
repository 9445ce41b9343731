#include <c10/util/Exception.h>
#include <diopigen_torch/device.h>
#include <diopigen_torch/device_kernel.h>

#include <iterator>
#include <map>
#include <mutex>

#include "registry.h"

namespace diopigen::backend {

namespace {

// From that many kernels on, those that no graph uses are unloaded.
constexpr size_t kMostUnused = 256;

diopigenKernelCompiler_t kernel_compiler{};

}  // namespace

bool has_kernel_compiler() {
    initialize();
    return kernel_compiler.compile != nullptr;
}

DeviceKernel::DeviceKernel(const std::string& source, const std::string& name) : name_(name) {
    TORCH_CHECK(has_kernel_compiler(), "the device compiles no kernels");
    require_done(kernel_compiler.compile(source.c_str(), name.c_str(), &kernel_), "compile the kernel ", name);
}

DeviceKernel::~DeviceKernel() {
    finish_work();
    kernel_compiler.unload(kernel_);
}

void DeviceKernel::launch(diopiStreamHandle_t stream, const std::vector<diopigenKernelBuffer_t>& buffers,
                          const std::vector<int64_t>& numbers, int64_t items, int64_t grain) const {
    require_done(kernel_compiler.launch(kernel_, stream, buffers.data(), buffers.size(), numbers.data(), numbers.size(),
                                        items, grain),
                 "run the kernel ", name_);
}

std::shared_ptr<const DeviceKernel> device_kernel(const std::string& source, const std::string& name) {
    // Never destroyed: at the end of the process the device may be gone before static objects are.
    static auto* const known = new std::map<std::string, std::shared_ptr<const DeviceKernel>>;
    static std::mutex mutex;
    const std::lock_guard<std::mutex> lock(mutex);
    if (const auto found = known->find(source); found != known->end()) {
        return found->second;
    }
    auto created = std::make_shared<const DeviceKernel>(source, name);
    for (auto at = known->begin(); known->size() >= kMostUnused && at != known->end();) {
        at = at->second.use_count() == 1 ? known->erase(at) : std::next(at);
    }
    known->emplace(source, created);
    return created;
}

}  // namespace diopigen::backend

int32_t diopigenRegisterKernelCompiler(const diopigenKernelCompiler_t* table) {
    if (table == nullptr || table->size != sizeof(diopigenKernelCompiler_t) || table->compile == nullptr ||
        table->launch == nullptr || table->unload == nullptr) {
        return 1;
    }
    diopigen::backend::kernel_compiler = *table;
    return 0;
}
