// Graphs that the simulated device runs in one submission to the queue of a stream.
#ifndef DIOPIGEN_SIM_SRC_GRAPH_RUNNER_H_
#define DIOPIGEN_SIM_SRC_GRAPH_RUNNER_H_

#include <diopigen/graph_compiler.h>
#include <diopigen_sim/status.h>

namespace diopigen::sim {

Status compile_graph(const char* document, void** graph);
Status run_graph(void* graph, diopiStreamHandle_t stream, const diopigenGraphSlot_t* slots, uint64_t slot_count,
                 diopigenGraphStep_t step, void* state);
Status unload_graph(void* graph);

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_SRC_GRAPH_RUNNER_H_
