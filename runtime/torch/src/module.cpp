// What Python sees of the backend, as operators of the namespace `diopi`: no Python header is needed.
#include <diopigen_torch/device.h>
#include <diopigen_torch/fallback.h>
#include <diopigen_torch/generator.h>
#include <diopigen_torch/switches.h>
#include <torch/library.h>

namespace diopigen::backend {

namespace {

c10::Dict<std::string, int64_t> dictionary(const std::map<std::string, int64_t>& values) {
    c10::Dict<std::string, int64_t> made;
    for (const auto& [name, value] : values) {
        made.insert(name, value);
    }
    return made;
}

TORCH_LIBRARY(diopi, library) {
    library.def("initialize() -> ()", [] { initialize(); });
    library.def("is_initialized() -> bool", [] { return isInitialized(); });
    library.def("finalize() -> int", [] { return static_cast<int64_t>(finalize()); });
    library.def("device_count() -> int", [] { return static_cast<int64_t>(deviceCount()); });
    library.def("default_generator(int device) -> Generator?",
                [](int64_t device) { return defaultGenerator(static_cast<c10::DeviceIndex>(device)); });
    library.def("switches() -> (str, str, str, int)", [] {
        const Switches now = switches();
        return std::make_tuple(now.forced, now.compared, now.folder, now.dump);
    });
    library.def("set_switches(str forced, str compared, str folder, int dump) -> ()",
                [](std::string forced, std::string compared, std::string folder, int64_t dump) {
                    setSwitches({std::move(forced), std::move(compared), std::move(folder), dump});
                });
    library.def("difference_count() -> int", [] { return differenceCount(); });
    library.def("fallback_counts() -> Dict(str, int)", [] { return dictionary(fallbackCounts()); });
    library.def("reset_fallback_counts() -> ()", [] { resetFallbackCounts(); });
}

}  // namespace

}  // namespace diopigen::backend
