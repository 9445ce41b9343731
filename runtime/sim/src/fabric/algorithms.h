// The collectives as rounds of messages, in the memory that a kernel sees. They block until the other ranks take part.
#ifndef DIOPIGEN_SIM_SRC_FABRIC_ALGORITHMS_H_
#define DIOPIGEN_SIM_SRC_FABRIC_ALGORITHMS_H_

#include <diopi/functions_collective.h>

#include <vector>

#include "communicator.h"

namespace diopigen::sim::fabric {

/// `send` and `receive` have the elements that functions_collective.h says; `operation.count` counts as it does there.
void allReduce(Communicator& comm, const Operation& operation, const char* send, char* receive);
void broadcast(Communicator& comm, const Operation& operation, char* buffer);
void allGather(Communicator& comm, const Operation& operation, const char* send, char* receive);
void reduce(Communicator& comm, const Operation& operation, const char* send, char* receive);
void reduceScatter(Communicator& comm, const Operation& operation, const char* send, char* receive);
void allToAll(Communicator& comm, const Operation& operation, const char* send, char* receive);

/// Elements for each rank, or of each rank, and where they start.
struct Places {
    std::vector<int64_t> counts;
    std::vector<int64_t> offsets;
};
void allToAll(Communicator& comm, const Operation& operation, const char* send, const Places& sent, char* receive,
              const Places& received);
void send(Communicator& comm, const Operation& operation, int peer, const char* buffer);
void receive(Communicator& comm, const Operation& operation, int peer, char* buffer);

}  // namespace diopigen::sim::fabric

#endif  // DIOPIGEN_SIM_SRC_FABRIC_ALGORITHMS_H_
