#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/DeviceType.h>
#include <diopigen_torch/device.h>
#include <diopigen_torch/saved_graph.h>
#include <diopigen_torch/tape.h>
#include <torch/library.h>

#include <map>
#include <mutex>
#include <utility>

#include "saved_graph_file.h"

namespace diopigen::backend {

namespace {

struct Graphs {
    std::mutex mutex;
    std::map<int64_t, std::shared_ptr<const SavedGraph>> all;
    int64_t next = 0;
};

Graphs& graphs() {
    static auto* const created = new Graphs;
    return *created;
}

TORCH_LIBRARY_FRAGMENT(diopi, library) {
    library.def("load_graph(str path) -> int", [](const std::string& path) {
        auto loaded = std::make_shared<SavedGraph>(path);
        const std::lock_guard<std::mutex> lock(graphs().mutex);
        graphs().all.emplace(graphs().next, std::move(loaded));
        return graphs().next++;
    });
    library.def(
        "run_graph(int graph, Tensor[] inputs) -> Tensor[]",
        [](int64_t number, std::vector<at::Tensor> inputs) { return saved_graph(number)->run(std::move(inputs)); });
    library.def("remove_graph(int graph) -> ()", [](int64_t number) {
        const std::shared_ptr<const SavedGraph> last = saved_graph(number);  // freed after the lock
        const std::lock_guard<std::mutex> lock(graphs().mutex);
        graphs().all.erase(number);
    });
}

}  // namespace

std::shared_ptr<const SavedGraph> saved_graph(int64_t number) {
    const std::lock_guard<std::mutex> lock(graphs().mutex);
    const auto found = graphs().all.find(number);
    TORCH_CHECK(found != graphs().all.end(), "there is no saved graph ", number);
    return found->second;
}

SavedGraph::SavedGraph(const std::string& path) {
    const saved::GraphFile file = saved::read_graph_file(path);
    const std::string& name = file.document.at("device").text();
    if (c10::get_privateuse1_backend() != name) {
        // A program without Python has not named the device yet; the name of another one cannot be changed.
        c10::register_privateuse1_backend(name);
    }
    initialize();
    const std::vector<Json>& plans = file.document.at("plans").list();
    TORCH_CHECK(!plans.empty(), path, " has no plan");
    device_ = plans.front().at("plan").at("device").integer();
    std::vector<at::Tensor> constants;
    for (const at::Tensor& each : file.constants) {
        constants.push_back(at::empty_strided(each.sizes(), each.strides(), each.options().device(device())));
        constants.back().copy_(each);
    }
    for (const Json& each : plans) {
        std::vector<at::Tensor> own;
        for (const int64_t index : each.at("constants").integers()) {
            TORCH_CHECK(index >= 0 && index < static_cast<int64_t>(constants.size()), path, " has no constant ", index);
            own.push_back(constants[static_cast<size_t>(index)]);
        }
        programs_.push_back(std::make_unique<Program>(each.at("plan"), std::move(own)));
    }
    for (const Json& each : file.document.at("inputs").list()) {
        const SlotPlan* const slot = programs_.front()->input_slot(inputs_.size());
        TORCH_CHECK(slot != nullptr, path, " has an input without a form");
        inputs_.push_back({each.at("name").text(), slot->type, each.at("form").text()});
    }
}

SavedGraph::~SavedGraph() = default;

at::Device SavedGraph::device() const { return {kDeviceType, static_cast<c10::DeviceIndex>(device_)}; }

// Names an input that is not what the graph was saved for.
void SavedGraph::reject(const std::vector<at::Tensor>& inputs, size_t index) const {
    const Input& expected = inputs_[index];
    TORCH_CHECK(false, "the input ", expected.name, " is ", inputs[index].scalar_type(), " ", inputs[index].sizes(),
                "; the graph was saved for ", expected.type, " ", expected.sizes);
}

std::vector<at::Tensor> SavedGraph::run(std::vector<at::Tensor> inputs) const {
    TORCH_CHECK(inputs.size() == inputs_.size(), "the saved graph has ", inputs_.size(), " inputs, not ",
                inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
        const auto rank = static_cast<size_t>(inputs[i].dim());
        if (inputs[i].scalar_type() != inputs_[i].type || rank != programs_.front()->input_slot(i)->rank) {
            reject(inputs, i);
        }
    }
    for (const SymbolPlan& symbol : programs_.front()->symbols()) {
        const int64_t size = inputs[symbol.index].size(static_cast<int64_t>(symbol.dimension));
        if (size < symbol.least || size > symbol.most) {
            reject(inputs, symbol.index);
        }
    }
    for (const std::unique_ptr<Program>& program : programs_) {
        const std::shared_ptr<Program::Sized> sized = program->sized_for(inputs, {});
        if (sized == nullptr) {
            continue;
        }
        for (size_t i = 0; i < inputs.size(); ++i) {
            const SlotPlan& expected = *program->input_slot(i, sized.get());
            if (inputs[i].sizes() != expected.sizes) {
                reject(inputs, i);
            }
            if (inputs[i].device() != device() || inputs[i].strides() != expected.strides) {
                at::Tensor moved =
                    at::empty_strided(expected.sizes, expected.strides, inputs[i].options().device(device()));
                moved.copy_(inputs[i]);
                inputs[i] = std::move(moved);
            }
        }
        return program->run(*sized, std::move(inputs));
    }
    std::string sizes;
    for (const SymbolPlan& symbol : programs_.front()->symbols()) {
        sizes += (sizes.empty() ? "" : ", ") + symbol.name + " = " +
                 std::to_string(inputs[symbol.index].size(static_cast<int64_t>(symbol.dimension)));
    }
    TORCH_CHECK(false, "the graph has no plan for the sizes ", sizes, ": the model decides otherwise for them");
}

}  // namespace diopigen::backend
