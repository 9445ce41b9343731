// A graph that `diopi_torch.export.save` wrote, for programs without Python.
//
//     diopigen::backend::SavedGraph graph("model.diopi");
//     std::vector<at::Tensor> results = graph.run({input});
#ifndef DIOPIGEN_TORCH_SAVED_GRAPH_H_
#define DIOPIGEN_TORCH_SAVED_GRAPH_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>
#include <vector>

namespace diopigen::backend {

class Program;

class SavedGraph {
  public:
    /// Reads a file, and moves its constants to the device. Throws `c10::Error` where the file is not what this version
    /// reads.
    explicit SavedGraph(const std::string& path);
    ~SavedGraph();
    SavedGraph(const SavedGraph&) = delete;
    SavedGraph& operator=(const SavedGraph&) = delete;

    struct Input {
        std::string name;
        at::ScalarType type;
        /// As text, with the names and ranges of those that are open: `[2, length], length from 2 to 64`.
        std::string sizes;
    };
    const std::vector<Input>& inputs() const { return inputs_; }
    at::Device device() const;

    /// The results, on the device. Inputs on the CPU are moved there. Throws where an input has another dtype or shape
    /// than the graph was saved for. Threads may run a graph at once.
    std::vector<at::Tensor> run(std::vector<at::Tensor> inputs) const;

  private:
    [[noreturn]] void reject(const std::vector<at::Tensor>& inputs, size_t index) const;

    /// For different conditions on sizes.
    std::vector<std::unique_ptr<Program>> programs_;
    std::vector<Input> inputs_;
    int64_t device_ = 0;
};

/// A graph that Python has loaded, by its number.
std::shared_ptr<const SavedGraph> saved_graph(int64_t number);

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_SAVED_GRAPH_H_
