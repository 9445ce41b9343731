// Functions of the backend for Python, as operators of the namespace `diopi`: no Python header is needed.
#include <diopigen/environment.h>
#include <diopigen_torch/allocator.h>
#include <diopigen_torch/capture.h>
#include <diopigen_torch/device.h>
#include <diopigen_torch/ending.h>
#include <diopigen_torch/fallback.h>
#include <diopigen_torch/generator.h>
#include <diopigen_torch/read_switches.h>
#include <diopigen_torch/switches.h>
#include <torch/csrc/autograd/variable.h>
#include <torch/headeronly/version.h>
#include <torch/library.h>

#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace diopigen::backend {

namespace {

// diopi_torch reads it in the file before it loads the library (releases.py).
[[gnu::used]] const char kBuiltFor[] = "diopigen: built for torch " TORCH_VERSION;

c10::Dict<std::string, int64_t> dictionary(const std::map<std::string, int64_t>& values) {
    c10::Dict<std::string, int64_t> result;
    for (const auto& [name, value] : values) {
        result.insert(name, value);
    }
    return result;
}

using Texts = std::vector<std::string>;

// The columns overload, reason, function, status and calls: schemas have no lists of tuples.
std::tuple<Texts, Texts, Texts, Texts, std::vector<int64_t>> fallback_columns() {
    std::tuple<Texts, Texts, Texts, Texts, std::vector<int64_t>> columns;
    auto& [overloads, reasons, functions, statuses, calls] = columns;
    for (const Fallback& each : fallbacks()) {
        overloads.push_back(each.overload);
        reasons.push_back(each.reason);
        functions.push_back(each.left.function);
        statuses.push_back(each.left.status);
        calls.push_back(each.calls);
    }
    return columns;
}

// `tensor.data = data` between two devices. PyTorch's own setter leaves that to a fixed list of devices; this one keeps
// the tensor, and with it all who refer to it: other modules, optimizers, hooks, reducers of gradients.
void set_data(const at::Tensor& tensor, const at::Tensor& data) {
    TORCH_CHECK(tensor.layout() == at::kStrided && data.layout() == at::kStrided,
                "only dense tensors move between devices in place");
    torch::autograd::AutogradMeta* const meta = torch::autograd::impl::get_autograd_meta(tensor);
    if (meta != nullptr) {
        // It was made for gradients of the other device.
        const std::lock_guard<std::mutex> lock(meta->mutex_);
        meta->grad_accumulator_.reset();
    }
    tensor.unsafeGetTensorImpl()->shallow_copy_from(data.getIntrusivePtr());
}

std::map<std::string, int64_t> host_memory_stats() {
    const at::HostStats stats = pinned_allocator().get_stats();
    std::map<std::string, int64_t> values{{"num_host_alloc", stats.num_host_alloc},
                                          {"num_host_free", stats.num_host_free}};
    const auto add = [&](const std::string& name, const c10::CachingAllocator::Stat& stat) {
        values[name + ".current"] = stat.current;
        values[name + ".peak"] = stat.peak;
        values[name + ".allocated"] = stat.allocated;
        values[name + ".freed"] = stat.freed;
    };
    add("active_requests", stats.active_requests);
    add("active_bytes", stats.active_bytes);
    add("allocations", stats.allocations);
    add("allocated_bytes", stats.allocated_bytes);
    return values;
}

// The columns name, values and aliases of the variables that specs/environment.yaml declares.
std::tuple<Texts, Texts, Texts> environment_columns() {
    std::tuple<Texts, Texts, Texts> columns;
    for (const environment::Variable& one : environment::kVariables) {
        std::get<0>(columns).emplace_back(one.name);
        std::get<1>(columns).emplace_back(one.values);
        std::get<2>(columns).emplace_back(one.aliases);
    }
    return columns;
}

TORCH_LIBRARY(diopi, library) {
    library.def("environment() -> (str[], str[], str[])", &environment_columns);
    library.def("environment_fault(str name) -> str",
                [](const std::string& name) { return environment::fault(name.c_str()); });
    library.def("initialize() -> ()", [] { initialize(); });
    library.def("is_initialized() -> bool", [] { return is_initialized(); });
    library.def("park_other_threads() -> ()", [] { park_other_threads(); });
    library.def("finalize() -> int", [] { return static_cast<int64_t>(finalize()); });
    library.def("is_forked() -> bool", [] { return is_forked(); });
    library.def("set_data(Tensor(a!) tensor, Tensor data) -> ()", &set_data);
    library.def("set_memory_fraction(int device, float fraction) -> ()", [](int64_t device, double fraction) {
        set_memory_fraction(static_cast<c10::DeviceIndex>(device), fraction);
    });
    library.def("host_memory_stats() -> Dict(str, int)", [] { return dictionary(host_memory_stats()); });
    library.def("reset_host_memory_stats(bool peak) -> ()", [](bool peak) {
        if (peak) {
            pinned_allocator().reset_peak_stats();
        } else {
            pinned_allocator().reset_accumulated_stats();
        }
    });
    library.def("reject_composed_for_compressed() -> ()", [] { reject_composed_for_compressed(); });
    library.def("register_graphs() -> ()", [] { register_graphs(); });
    library.def("is_capturing(int device) -> bool",
                [](int64_t device) { return is_capturing(static_cast<c10::DeviceIndex>(device)); });
    library.def("new_pool() -> (int, int)", [] {
        const c10::MempoolId_t pool = new_pool();
        return std::make_tuple(static_cast<int64_t>(pool.first), static_cast<int64_t>(pool.second));
    });
    library.def("device_count() -> int", [] { return static_cast<int64_t>(device_count()); });
    library.def("default_generator(int device) -> Generator?",
                [](int64_t device) { return default_generator(static_cast<c10::DeviceIndex>(device)); });
    library.def("switches() -> (str, str, str, int)", [] {
        const Switches now = switches();
        return std::make_tuple(now.forced, now.compared, now.folder, now.dump);
    });
    library.def("set_switches(str forced, str compared, str folder, int dump) -> ()",
                [](std::string forced, std::string compared, std::string folder, int64_t dump) {
                    set_switches({std::move(forced), std::move(compared), std::move(folder), dump});
                });
    library.def("read_switches() -> ()", [] { read_switches(); });
    library.def("difference_count() -> int", [] { return difference_count(); });
    library.def("fallbacks() -> (str[], str[], str[], str[], int[])", &fallback_columns);
    library.def("reset_fallbacks() -> ()", [] { reset_fallbacks(); });
}

}  // namespace

}  // namespace diopigen::backend
