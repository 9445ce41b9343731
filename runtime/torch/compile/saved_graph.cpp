#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty_strided.h>
#include <c10/core/DeviceType.h>
#include <diopigen_torch/device.h>
#include <diopigen_torch/saved_graph.h>
#include <diopigen_torch/tape.h>
#include <torch/csrc/jit/serialization/pickle.h>
#include <torch/library.h>

#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

namespace diopigen::backend {

namespace {

constexpr int64_t kFormat = 2;

c10::IValue contentOf(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    TORCH_CHECK(file.good(), "no saved graph at ", path);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    try {
        c10::IValue value = torch::jit::pickle_load(bytes);
        if (value.isGenericDict()) {
            return value;
        }
    } catch (const std::exception& error) {
        TORCH_CHECK(false, path, " is no saved graph: ", error.what());
    }
    TORCH_CHECK(false, path, " is no saved graph: it has no dictionary");
}

c10::IValue entry(const c10::IValue& content, const char* key) {
    const auto values = content.toGenericDict();
    const auto found = values.find(key);
    TORCH_CHECK(found != values.end(), "a saved graph without '", key, "'");
    return found->value();
}

std::vector<int64_t> integersOf(const c10::IValue& value) {
    std::vector<int64_t> found;
    for (const c10::IValue& each : value.toList()) {
        found.push_back(each.toInt());
    }
    return found;
}

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
        [](int64_t number, std::vector<at::Tensor> inputs) { return savedGraph(number)->run(std::move(inputs)); });
    library.def("remove_graph(int graph) -> ()", [](int64_t number) {
        const std::shared_ptr<const SavedGraph> last = savedGraph(number);  // freed after the lock
        const std::lock_guard<std::mutex> lock(graphs().mutex);
        graphs().all.erase(number);
    });
}

}  // namespace

std::shared_ptr<const SavedGraph> savedGraph(int64_t number) {
    const std::lock_guard<std::mutex> lock(graphs().mutex);
    const auto found = graphs().all.find(number);
    TORCH_CHECK(found != graphs().all.end(), "there is no saved graph ", number);
    return found->second;
}

SavedGraph::SavedGraph(const std::string& path) {
    const c10::IValue content = contentOf(path);
    const int64_t format = entry(content, "format").toInt();
    TORCH_CHECK(format == kFormat, path, " has the format ", format, "; this library reads ", kFormat);
    const std::string name = entry(content, "device").toStringRef();
    if (c10::get_privateuse1_backend() != name) {
        // A program without Python has not named the device yet; the name of another one cannot be changed.
        c10::register_privateuse1_backend(name);
    }
    initialize();
    std::vector<Json> plans;
    std::vector<std::vector<int64_t>> needed;
    for (const c10::IValue& each : entry(content, "plans").toListRef()) {
        const auto& values = each.toListRef();
        TORCH_CHECK(values.size() == 2, path, " has a plan without constants");
        plans.push_back(Json::parse(values[0].toStringRef()));
        needed.push_back(integersOf(values[1]));
    }
    TORCH_CHECK(!plans.empty(), path, " has no plan");
    device_ = plans.front().at("device").integer();
    std::vector<at::Tensor> constants;
    for (const c10::IValue& each : entry(content, "constants").toListRef()) {
        constants.push_back(each.toTensor().to(device()));
    }
    for (size_t i = 0; i < plans.size(); ++i) {
        std::vector<at::Tensor> own;
        for (const int64_t index : needed[i]) {
            TORCH_CHECK(index >= 0 && index < static_cast<int64_t>(constants.size()), path, " has no constant ", index);
            own.push_back(constants[static_cast<size_t>(index)]);
        }
        programs_.push_back(std::make_unique<Program>(std::move(plans[i]), std::move(own)));
    }
    for (const c10::IValue& each : entry(content, "inputs").toListRef()) {
        const auto& values = each.toListRef();
        const SlotPlan* const slot = programs_.front()->inputSlot(inputs_.size());
        TORCH_CHECK(values.size() == 2 && slot != nullptr, path, " has an input without a form");
        inputs_.push_back({values[0].toStringRef(), slot->type, values[1].toStringRef()});
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
        if (inputs[i].scalar_type() != inputs_[i].type || rank != programs_.front()->inputSlot(i)->rank) {
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
        const std::shared_ptr<Program::Sized> sized = program->sizedFor(inputs, {});
        if (sized == nullptr) {
            continue;
        }
        for (size_t i = 0; i < inputs.size(); ++i) {
            const SlotPlan& expected = *program->inputSlot(i, sized.get());
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
