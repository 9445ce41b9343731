// The functions of <diopi/functions_collective.h> over gloo, on the streams and memory of the simulated device.
#include <diopi/functions.h>
#include <diopigen_sim/launch.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <memory>

#include "engine.h"

namespace sim = diopigen::sim;
using gloo_reference::Engine;
using sim::fabric::Line;
using Shared = std::shared_ptr<Engine>;

namespace {

thread_local std::string lastError;

diopiError_t fail(diopiError_t status, const std::string& text) {
    lastError = text;
    return status;
}

struct Registry {
    std::mutex mutex;
    std::map<diopiComm_t, Shared> open;
};

Registry& registry() {
    static auto* const all = new Registry;
    return *all;
}

Shared find(diopiComm_t comm) {
    const std::lock_guard<std::mutex> lock(registry().mutex);
    const auto found = registry().open.find(comm);
    return found == registry().open.end() ? nullptr : found->second;
}

bool isOp(diopiReduceOp_t op) { return op >= ReduceOpSum && op <= ReduceOpAvg; }

/// A call: what is wrong with it is found first, and then nothing is queued.
class Call {
  public:
    Call(const char* name, diopiComm_t comm, diopiStreamHandle_t stream)
        : name_(name), engine_(find(comm)), stream_(static_cast<sim::StreamHandle>(stream)) {
        if (engine_ == nullptr) {
            reject(diopiErrorOccurred, "'comm' is no communicator");
        }
    }

    Call& elements(int64_t count, diopiDtype_t dtype) {
        size_ = gloo_reference::bytesOf(dtype);
        if (count < 0) {
            reject(diopiErrorOccurred, "the count is negative");
        } else if (size_ == 0) {
            reject(diopiDtypeNotSupported, "'datatype' is no dtype of elements");
        }
        return *this;
    }
    Call& reduces(diopiDtype_t dtype, diopiReduceOp_t op) {
        if (!isOp(op)) {
            reject(diopiErrorOccurred, "'op' is no diopiReduceOp_t");
        } else if (!gloo_reference::canReduce(dtype, op)) {
            reject(diopiDtypeNotSupported, "torch does not reduce this dtype so");
        }
        return *this;
    }
    Call& among(const char* what, int rank) {
        if (rank < 0 || rank >= ranks()) {
            reject(diopiErrorOccurred, "'" + std::string(what) + "' is no rank");
        }
        return *this;
    }
    Call& buffer(const void* pointer, int64_t elements, sim::Access access) {
        const uint64_t bytes = isValid() ? static_cast<uint64_t>(elements * size_) : 0;
        buffers_.push_back({bytes > 0 ? pointer : nullptr, bytes, access});
        return *this;
    }
    void reject(diopiError_t status, const std::string& text) {
        if (isValid()) {
            status_ = fail(status, std::string(name_) + ": " + text);
        }
    }
    bool isValid() const { return status_ == diopiSuccess; }
    int64_t ranks() const { return engine_ == nullptr ? 1 : engine_->nranks(); }
    int64_t rank() const { return engine_ == nullptr ? 0 : engine_->rank(); }
    int64_t size() const { return size_; }
    Engine& engine() { return *engine_; }

    using Body = std::function<void(Engine&, const sim::Kernel&)>;
    diopiError_t launch(Line* line, Body body) {
        if (const std::string text = engine_->error(); !text.empty()) {
            return fail(diopiErrorOccurred, text);
        }
        const sim::Status status = line->issue([&](uint64_t number) {
            return sim::launch(stream_, name_, buffers_, [engine = engine_, line, number, body](const sim::Kernel& k) {
                engine->run(line, number, [&] { body(*engine, k); });
            });
        });
        return status.ok() ? diopiSuccess : fail(diopiErrorOccurred, status.text());
    }
    diopiError_t launch(Body body) { return isValid() ? launch(&engine_->collectives(), std::move(body)) : status_; }

  private:
    const char* name_;
    const Shared engine_;
    const sim::StreamHandle stream_;
    diopiError_t status_ = diopiSuccess;
    int64_t size_ = 0;
    std::vector<sim::Buffer> buffers_;
};

/// The bytes of a split, and how many elements its buffer has.
int64_t placesOf(Call* call, diopiSize_t counts, diopiSize_t offsets, Engine::Places* places) {
    if (counts.len != call->ranks() || offsets.len != call->ranks()) {
        call->reject(diopiErrorOccurred, "a list does not have one entry for each rank");
    }
    int64_t extent = 0;
    for (int64_t i = 0; call->isValid() && i < counts.len; ++i) {
        if (counts.data[i] < 0 || offsets.data[i] < 0) {
            call->reject(diopiErrorOccurred, "a list has a negative entry");
        }
        places->counts.push_back(counts.data[i] * call->size());
        places->offsets.push_back(offsets.data[i] * call->size());
        extent = std::max(extent, counts.data[i] > 0 ? counts.data[i] + offsets.data[i] : 0);
    }
    return extent;
}

}  // namespace

extern "C" {

const char* diopiGetVendorName() { return "gloo"; }

const char* diopiGetLastErrorString() { return lastError.c_str(); }

diopiError_t diopiGetUniqueId(diopiUniqueId_t* uniqueId) {
    std::string path = (std::filesystem::temp_directory_path() / "gloo-XXXXXX").string();
    const int file = mkstemp(path.data());
    if (file < 0 || path.size() >= sizeof(uniqueId->data)) {
        return fail(diopiErrorOccurred, "diopiGetUniqueId: no file in the folder of temporary files");
    }
    close(file);
    std::memset(uniqueId->data, 0, sizeof(uniqueId->data));
    std::memcpy(uniqueId->data, path.data(), path.size());
    return diopiSuccess;
}

diopiError_t diopiCommInitRank(diopiComm_t* comm, int nranks, const diopiUniqueId_t* uniqueId, int rank) {
    if (nranks < 1 || rank < 0 || rank >= nranks) {
        return fail(diopiErrorOccurred, "diopiCommInitRank: 'rank' must be at least 0 and below 'nranks'");
    }
    try {
        auto made = std::make_shared<Engine>(
            std::string(uniqueId->data, strnlen(uniqueId->data, sizeof(uniqueId->data))), nranks, rank);
        *comm = reinterpret_cast<diopiComm_t>(made.get());
        const std::lock_guard<std::mutex> lock(registry().mutex);
        registry().open[*comm] = std::move(made);
        return diopiSuccess;
    } catch (const std::exception& failure) {
        return fail(diopiErrorOccurred, std::string("diopiCommInitRank: ") + failure.what());
    }
}

diopiError_t diopiCommDestroy(diopiComm_t comm) {
    const Shared found = find(comm);
    if (found == nullptr) {
        return fail(diopiErrorOccurred, "diopiCommDestroy: 'comm' is no communicator");
    }
    found->close();
    const std::lock_guard<std::mutex> lock(registry().mutex);
    registry().open.erase(comm);
    return diopiSuccess;
}

diopiError_t diopiGetCommAsyncError(diopiComm_t comm, diopiError_t* asyncError) {
    const Shared found = find(comm);
    if (found == nullptr) {
        return fail(diopiErrorOccurred, "diopiGetCommAsyncError: 'comm' is no communicator");
    }
    const std::string text = found->error();
    *asyncError = text.empty() ? diopiSuccess : fail(diopiErrorOccurred, text);
    return diopiSuccess;
}

diopiError_t diopiGetCommName(diopiComm_t comm, const char** name) {
    const Shared found = find(comm);
    if (found == nullptr) {
        return fail(diopiErrorOccurred, "diopiGetCommName: 'comm' is no communicator");
    }
    *name = found->name().c_str();
    return diopiSuccess;
}

diopiError_t diopiAllReduce(const void* sendbuff, void* recvbuff, int64_t count, diopiDtype_t datatype,
                            diopiReduceOp_t op, diopiComm_t comm, diopiStreamHandle_t stream) {
    Call call(__func__, comm, stream);
    call.elements(count, datatype).reduces(datatype, op);
    call.buffer(sendbuff, count, sim::Access::read).buffer(recvbuff, count, sim::Access::readWrite);
    return call.launch([=](Engine& engine, const sim::Kernel& k) {
        engine.allReduce(k.in<char>(0), k.out<char>(1), count, datatype, op);
    });
}

diopiError_t diopiBroadcast(void* buff, int64_t count, diopiDtype_t datatype, int root, diopiComm_t comm,
                            diopiStreamHandle_t stream) {
    Call call(__func__, comm, stream);
    call.elements(count, datatype).among("root", root).buffer(buff, count, sim::Access::readWrite);
    return call.launch([=, bytes = count * call.size()](Engine& engine, const sim::Kernel& k) {
        engine.broadcast(k.out<char>(0), bytes, root);
    });
}

diopiError_t diopiAllGather(const void* sendbuff, void* recvbuff, int64_t sendcount, diopiDtype_t datatype,
                            diopiComm_t comm, diopiStreamHandle_t stream) {
    Call call(__func__, comm, stream);
    call.elements(sendcount, datatype).buffer(sendbuff, sendcount, sim::Access::read);
    call.buffer(recvbuff, sendcount * call.ranks(), sim::Access::readWrite);
    return call.launch([bytes = sendcount * call.size()](Engine& engine, const sim::Kernel& k) {
        engine.allGather(k.in<char>(0), k.out<char>(1), bytes);
    });
}

diopiError_t diopiReduce(const void* sendbuff, void* recvbuff, int64_t count, diopiDtype_t datatype, diopiReduceOp_t op,
                         int root, diopiComm_t comm, diopiStreamHandle_t stream) {
    Call call(__func__, comm, stream);
    call.elements(count, datatype).reduces(datatype, op).among("root", root);
    call.buffer(sendbuff, count, sim::Access::read);
    call.buffer(recvbuff, call.rank() == root ? count : 0, sim::Access::readWrite);
    return call.launch([=](Engine& engine, const sim::Kernel& k) {
        engine.reduce(k.in<char>(0), k.out<char>(1), count, datatype, op, root);
    });
}

diopiError_t diopiReduceScatter(const void* sendbuff, void* recvbuff, int64_t recvcount, diopiDtype_t datatype,
                                diopiReduceOp_t op, diopiComm_t comm, diopiStreamHandle_t stream) {
    Call call(__func__, comm, stream);
    call.elements(recvcount, datatype).reduces(datatype, op);
    call.buffer(sendbuff, recvcount * call.ranks(), sim::Access::read);
    call.buffer(recvbuff, recvcount, sim::Access::readWrite);
    return call.launch([=](Engine& engine, const sim::Kernel& k) {
        engine.reduceScatter(k.in<char>(0), k.out<char>(1), recvcount, datatype, op);
    });
}

diopiError_t diopiAllToAllEqualSplit(const void* sendbuff, void* recvbuff, int64_t count, diopiDtype_t datatype,
                                     diopiComm_t comm, diopiStreamHandle_t stream) {
    Call call(__func__, comm, stream);
    call.elements(count, datatype).buffer(sendbuff, count * call.ranks(), sim::Access::read);
    call.buffer(recvbuff, count * call.ranks(), sim::Access::write);
    return call.launch([bytes = count * call.size()](Engine& engine, const sim::Kernel& k) {
        engine.allToAll(k.in<char>(0), k.out<char>(1), bytes);
    });
}

diopiError_t diopiAllToAllUnequalSplit(const void* sendbuff, diopiSize_t sendcounts, diopiSize_t senddispls,
                                       void* recvbuff, diopiSize_t recvcounts, diopiSize_t recvdispls,
                                       diopiDtype_t datatype, diopiComm_t comm, diopiStreamHandle_t stream) {
    Call call(__func__, comm, stream);
    Engine::Places sent;
    Engine::Places received;
    call.elements(0, datatype);
    call.buffer(sendbuff, placesOf(&call, sendcounts, senddispls, &sent), sim::Access::read);
    call.buffer(recvbuff, placesOf(&call, recvcounts, recvdispls, &received), sim::Access::write);
    return call.launch([sent, received](Engine& engine, const sim::Kernel& k) {
        engine.allToAll(k.in<char>(0), sent, k.out<char>(1), received);
    });
}

diopiError_t diopiSend(const void* sendbuff, int64_t count, diopiDtype_t datatype, int peer, diopiComm_t comm,
                       diopiStreamHandle_t stream) {
    Call call(__func__, comm, stream);
    call.elements(count, datatype).among("peer", peer).buffer(sendbuff, count, sim::Access::read);
    if (!call.isValid()) {
        return call.launch(nullptr);
    }
    return call.launch(
        &call.engine().sends(peer),
        [peer, bytes = count * call.size()](Engine& e, const sim::Kernel& k) { e.send(k.in<char>(0), bytes, peer); });
}

diopiError_t diopiRecv(void* recvbuff, int64_t count, diopiDtype_t datatype, int peer, diopiComm_t comm,
                       diopiStreamHandle_t stream) {
    Call call(__func__, comm, stream);
    call.elements(count, datatype).among("peer", peer).buffer(recvbuff, count, sim::Access::write);
    if (!call.isValid()) {
        return call.launch(nullptr);
    }
    return call.launch(&call.engine().receives(peer),
                       [peer, bytes = count * call.size()](Engine& e, const sim::Kernel& k) {
                           e.receive(k.out<char>(0), bytes, peer);
                       });
}

}  // extern "C"
