// The collectives of droplet: the fabric of the simulated device. They have no tensors, so that no shim is before them.
#include <diopi/functions_collective.h>
#include <diopigen_sim/fabric.h>

#include "droplet/error.h"

namespace sim = diopigen::sim;

namespace {

diopiError_t answer(const sim::Status& status) {
    if (status.ok()) {
        return diopiSuccess;
    }
    impl::droplet::setLastError("%s", status.text().c_str());
    switch (status.code()) {
        case sim::Code::unsupportedDtype:
            return diopiDtypeNotSupported;
        case sim::Code::unsupported:
            return diopiNoImplement;
        default:
            return diopiErrorOccurred;
    }
}

diopiError_t missing(const char* function, const char* parameter) {
    impl::droplet::setLastError("%s: '%s' is null", function, parameter);
    return diopiErrorOccurred;
}

}  // namespace

extern "C" {

diopiError_t diopiGetUniqueId(diopiUniqueId_t* uniqueId) { return answer(sim::uniqueId(uniqueId)); }

diopiError_t diopiCommInitRank(diopiComm_t* comm, int nranks, const diopiUniqueId_t* uniqueId, int rank) {
    return answer(sim::openCommunicator(comm, nranks, uniqueId, rank));
}

diopiError_t diopiCommDestroy(diopiComm_t comm) { return answer(sim::closeCommunicator(comm)); }

diopiError_t diopiGetCommAsyncError(diopiComm_t comm, diopiError_t* asyncError) {
    if (asyncError == nullptr) {
        return missing("diopiGetCommAsyncError", "asyncError");
    }
    sim::Status failure;
    const diopiError_t status = answer(sim::communicatorError(comm, &failure));
    if (status == diopiSuccess) {
        *asyncError = answer(failure);
    }
    return status;
}

diopiError_t diopiGetCommName(diopiComm_t comm, const char** name) {
    return name == nullptr ? missing("diopiGetCommName", "name") : answer(sim::communicatorName(comm, name));
}

diopiError_t diopiAllReduce(const void* sendbuff, void* recvbuff, int64_t count, diopiDtype_t datatype,
                            diopiReduceOp_t op, diopiComm_t comm, diopiStreamHandle_t stream) {
    return answer(sim::allReduce(sendbuff, recvbuff, {count, datatype}, op, comm, stream));
}

diopiError_t diopiBroadcast(void* buff, int64_t count, diopiDtype_t datatype, int root, diopiComm_t comm,
                            diopiStreamHandle_t stream) {
    return answer(sim::broadcast(buff, {count, datatype}, root, comm, stream));
}

diopiError_t diopiAllGather(const void* sendbuff, void* recvbuff, int64_t sendcount, diopiDtype_t datatype,
                            diopiComm_t comm, diopiStreamHandle_t stream) {
    return answer(sim::allGather(sendbuff, recvbuff, {sendcount, datatype}, comm, stream));
}

diopiError_t diopiReduce(const void* sendbuff, void* recvbuff, int64_t count, diopiDtype_t datatype, diopiReduceOp_t op,
                         int root, diopiComm_t comm, diopiStreamHandle_t stream) {
    return answer(sim::reduce(sendbuff, recvbuff, {count, datatype}, op, root, comm, stream));
}

diopiError_t diopiReduceScatter(const void* sendbuff, void* recvbuff, int64_t recvcount, diopiDtype_t datatype,
                                diopiReduceOp_t op, diopiComm_t comm, diopiStreamHandle_t stream) {
    return answer(sim::reduceScatter(sendbuff, recvbuff, {recvcount, datatype}, op, comm, stream));
}

diopiError_t diopiAllToAllEqualSplit(const void* sendbuff, void* recvbuff, int64_t count, diopiDtype_t datatype,
                                     diopiComm_t comm, diopiStreamHandle_t stream) {
    return answer(sim::allToAll(sendbuff, recvbuff, {count, datatype}, comm, stream));
}

diopiError_t diopiAllToAllUnequalSplit(const void* sendbuff, diopiSize_t sendcounts, diopiSize_t senddispls,
                                       void* recvbuff, diopiSize_t recvcounts, diopiSize_t recvdispls,
                                       diopiDtype_t datatype, diopiComm_t comm, diopiStreamHandle_t stream) {
    return answer(
        sim::allToAll(sendbuff, {sendcounts, senddispls}, recvbuff, {recvcounts, recvdispls}, datatype, comm, stream));
}

diopiError_t diopiSend(const void* sendbuff, int64_t count, diopiDtype_t datatype, int peer, diopiComm_t comm,
                       diopiStreamHandle_t stream) {
    return answer(sim::send(sendbuff, {count, datatype}, peer, comm, stream));
}

diopiError_t diopiRecv(void* recvbuff, int64_t count, diopiDtype_t datatype, int peer, diopiComm_t comm,
                       diopiStreamHandle_t stream) {
    return answer(sim::receive(recvbuff, {count, datatype}, peer, comm, stream));
}

}  // extern "C"
