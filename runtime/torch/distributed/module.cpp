// The module diopi_collectives: what Python makes process groups with.
#include <pybind11/chrono.h>
#include <torch/csrc/utils/pybind.h>

#include "process_group.h"

namespace py = pybind11;
using diopigen::distributed::ProcessGroup;

PYBIND11_MODULE(diopi_collectives, module) {
    // c10d::Backend, Store and Work are known to pybind11 by torch, which is imported before.
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
