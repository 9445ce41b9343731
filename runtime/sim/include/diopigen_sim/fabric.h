// The fabric between simulated devices: collectives of processes on one machine, over shared memory. The functions mean
// what those of <diopi/functions_collective.h> mean, and return a status with a text. They may be called from any
// thread.
#ifndef DIOPIGEN_SIM_FABRIC_H_
#define DIOPIGEN_SIM_FABRIC_H_

#include <diopi/functions_collective.h>
#include <diopigen_sim/status.h>
#include <diopigen_sim/stream.h>

namespace diopigen::sim {

Status uniqueId(diopiUniqueId_t* id);
Status openCommunicator(diopiComm_t* comm, int nranks, const diopiUniqueId_t* id, int rank);
/// What is in flight fails.
Status closeCommunicator(diopiComm_t comm);
/// The first failure of the communicator's work as `error`; the status says whether there is such a communicator.
Status communicatorError(diopiComm_t comm, Status* error);
/// Lives as long as the communicator.
Status communicatorName(diopiComm_t comm, const char** name);

/// Elements in device memory.
struct Elements {
    int64_t count = 0;
    diopiDtype_t dtype = diopi_dtype_unsupported;
};

Status allReduce(const void* send, void* receive, Elements elements, diopiReduceOp_t op, diopiComm_t comm,
                 StreamHandle stream);
Status broadcast(void* buffer, Elements elements, int root, diopiComm_t comm, StreamHandle stream);
/// `elements` of each rank.
Status allGather(const void* send, void* receive, Elements elements, diopiComm_t comm, StreamHandle stream);
Status reduce(const void* send, void* receive, Elements elements, diopiReduceOp_t op, int root, diopiComm_t comm,
              StreamHandle stream);
/// `elements` that each rank receives.
Status reduceScatter(const void* send, void* receive, Elements elements, diopiReduceOp_t op, diopiComm_t comm,
                     StreamHandle stream);
/// `elements` from each rank to each other.
Status allToAll(const void* send, void* receive, Elements elements, diopiComm_t comm, StreamHandle stream);

/// Where the elements for each rank, or of each rank, are: one entry for each rank in both lists.
struct Split {
    diopiSize_t counts;
    diopiSize_t offsets;
};
Status allToAll(const void* send, const Split& sent, void* receive, const Split& received, diopiDtype_t dtype,
                diopiComm_t comm, StreamHandle stream);
Status send(const void* buffer, Elements elements, int peer, diopiComm_t comm, StreamHandle stream);
Status receive(void* buffer, Elements elements, int peer, diopiComm_t comm, StreamHandle stream);

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_FABRIC_H_
