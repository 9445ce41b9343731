// The module diopi_collectives: what Python makes process groups with.
#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>

#include "process_group.h"

namespace py = pybind11;
using diopigen::distributed::ProcessGroup;
using Options = ProcessGroup::Options;

// diopi_torch reads it in the file before it loads the module (releases.py).
[[gnu::used]] static const char kBuiltFor[] = "diopigen: built for Python " PY_VERSION;

PYBIND11_MODULE(diopi_collectives, module) {
    // c10d::Backend, Store and Work are known to pybind11 by torch, which is imported before.
    // Both below are asked for by torch.distributed.split_group.
    py::class_<Options, c10::intrusive_ptr<Options>, c10d::Backend::Options>(module, "Options")
        .def("__deepcopy__",
             [](const Options& own, const py::dict& /*known*/) { return c10::make_intrusive<Options>(own); });
    py::class_<ProcessGroup, c10::intrusive_ptr<ProcessGroup>, c10d::Backend>(module, "ProcessGroup")
        .def_property_readonly("options", &ProcessGroup::options);
    module.def(
        "create",
        [](const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
           const std::chrono::milliseconds& timeout) -> c10::intrusive_ptr<c10d::Backend> {
            return c10::make_intrusive<ProcessGroup>(store, rank, size, timeout);
        },
        py::arg("store"), py::arg("rank"), py::arg("size"), py::arg("timeout"),
        py::call_guard<py::gil_scoped_release>());
    module.def("dump", [](const c10::intrusive_ptr<c10d::Backend>& backend) {
        const auto* const own = dynamic_cast<ProcessGroup*>(backend.get());
        TORCH_CHECK(own != nullptr, "a backend of ", backend->getBackendName(), " has no record of its collectives");
        return own->dump();
    });
}
