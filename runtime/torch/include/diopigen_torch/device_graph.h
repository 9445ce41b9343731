// Graphs that the device runs as a whole (diopigen/graph_compiler.h).
#ifndef DIOPIGEN_TORCH_DEVICE_GRAPH_H_
#define DIOPIGEN_TORCH_DEVICE_GRAPH_H_

#include <diopigen/graph_compiler.h>

#include <functional>
#include <string>
#include <vector>

namespace diopigen::backend {

/// Returns whether the vendor offers to run graphs, and `DIOPI_COMPILE_GRAPH` is not 0.
bool has_graph_compiler();

class DeviceGraph {
  public:
    /// Hands the document over; throws with the device's own text.
    explicit DeviceGraph(const std::string& document);
    /// Waits for all streams first.
    ~DeviceGraph();
    DeviceGraph(const DeviceGraph&) = delete;
    DeviceGraph& operator=(const DeviceGraph&) = delete;

    /// Queues a run. What `step` throws comes out; other failures throw with the device's own text.
    void run(diopiStreamHandle_t stream, const std::vector<diopigenGraphSlot_t>& slots,
             const std::function<void(uint64_t)>& step) const;

  private:
    void* graph_ = nullptr;
};

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_DEVICE_GRAPH_H_
