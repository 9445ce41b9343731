// diopi-run: runs a saved graph, without Python.
//
//     diopi-run model.diopi                                     what its inputs are
//     diopi-run model.diopi --input x.pt --output y.pt          tensors that torch.save wrote, and a list of the
//     results diopi-run model.diopi --input x.pt --repeat 100           microseconds of a run, the fastest and the mean
//
// Exit codes: 0 fine, 1 what went wrong is on standard error, 2 wrong usage.
#include <ATen/core/ivalue.h>
#include <diopigen_torch/device.h>
#include <diopigen_torch/read_switches.h>
#include <diopigen_torch/saved_graph.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <utility>

namespace {

using diopigen::backend::SavedGraph;

struct Options {
    std::string model;
    std::vector<std::string> inputs;
    std::string output;
    int64_t repeat = 0;
};

bool parse(int count, char** words, Options* options) {
    for (int i = 1; i < count; ++i) {
        const std::string word = words[i];
        const bool has_value = i + 1 < count;
        if (word == "--input" && has_value) {
            options->inputs.emplace_back(words[++i]);
        } else if (word == "--output" && has_value) {
            options->output = words[++i];
        } else if (word == "--repeat" && has_value) {
            options->repeat = std::atoll(words[++i]);
            if (options->repeat <= 0) {
                return false;
            }
        } else if (options->model.empty() && word.rfind("--", 0) != 0) {
            options->model = word;
        } else {
            return false;
        }
    }
    return !options->model.empty();
}

at::Tensor tensor_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    TORCH_CHECK(file.good(), "no tensor at ", path);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const c10::IValue value = torch::jit::pickle_load(bytes);
    TORCH_CHECK(value.isTensor(), path, " has no tensor");
    return value.toTensor();
}

void save(const std::string& path, const std::vector<at::Tensor>& results) {
    std::vector<c10::IValue> values;
    for (const at::Tensor& each : results) {
        values.emplace_back(each.cpu());
    }
    // torch.load accepts tuples without trusting the file; typed lists it does not.
    const std::vector<char> bytes = torch::jit::pickle_save(c10::ivalue::Tuple::create(std::move(values)));
    std::ofstream file(path, std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    TORCH_CHECK(file.good(), path, " cannot be written");
}

void describe(const SavedGraph& graph) {
    for (const SavedGraph::Input& input : graph.inputs()) {
        std::cout << input.name << ": " << input.type << " " << input.sizes << "\n";
    }
}

void measure(const SavedGraph& graph, const std::vector<at::Tensor>& inputs, int64_t repeat) {
    std::vector<at::Tensor> there;
    for (const at::Tensor& each : inputs) {
        there.push_back(each.to(graph.device()));
    }
    double best = 0, sum = 0;
    for (int64_t i = 0; i < repeat; ++i) {
        const auto start = std::chrono::steady_clock::now();
        graph.run(there);
        diopigen::backend::synchronize_device(graph.device().index());
        const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
        best = i == 0 ? took.count() : std::min(best, took.count());
        sum += took.count();
    }
    std::cout << "microseconds: fastest " << best << ", mean " << sum / static_cast<double>(repeat) << "\n";
}

void run(const Options& options) {
    const SavedGraph graph(options.model);
    if (options.inputs.empty() && !graph.inputs().empty()) {
        describe(graph);
        return;
    }
    std::vector<at::Tensor> inputs;
    for (const std::string& path : options.inputs) {
        inputs.push_back(tensor_of(path));
    }
    const std::vector<at::Tensor> results = graph.run(inputs);
    if (!options.output.empty()) {
        save(options.output, results);
    }
    if (options.repeat > 0) {
        measure(graph, inputs, options.repeat);
    }
    diopigen::backend::synchronize_device(graph.device().index());
}

}  // namespace

int main(int count, char** words) {
    Options options;
    if (!parse(count, words, &options)) {
        std::cerr << "usage: diopi-run MODEL [--input FILE]... [--output FILE] [--repeat COUNT]\n";
        return 2;
    }
    try {
        diopigen::backend::read_switches();
        run(options);
    } catch (const c10::Error& error) {
        std::cerr << "diopi-run: " << error.what_without_backtrace() << "\n";
        return 1;
    } catch (const std::exception& error) {
        std::cerr << "diopi-run: " << error.what() << "\n";
        return 1;
    }
    return 0;
}
