#include <diopigen/dtypes.h>
#include <diopigen_sim/fabric.h>
#include <diopigen_sim/launch.h>
#include <sys/random.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include "algorithms.h"
#include "reduce.h"

namespace diopigen::sim {

namespace {

using fabric::Communicator;
using fabric::Kind;
using fabric::Line;
using fabric::Operation;
using Shared = std::shared_ptr<Communicator>;

/// The communicators of this process, and the memory of those whose id was made here, by id. Never given back: streams
/// may still use it at exit.
struct Registry {
    std::mutex mutex;
    std::map<diopiComm_t, Shared> open;
    std::map<std::string, std::unique_ptr<fabric::SegmentFile>> made;
};

Registry& registry() {
    static auto* const all = new Registry;
    return *all;
}

Status invalid(const char* name, const std::string& text) {
    return {Code::invalidArgument, std::string(name) + ": " + text};
}

Status find(const char* name, diopiComm_t comm, Shared* found) {
    const std::lock_guard<std::mutex> lock(registry().mutex);
    const auto entry = registry().open.find(comm);
    if (entry == registry().open.end()) {
        return invalid(name, comm == nullptr ? "'comm' is null" : "'comm' is no communicator, or was destroyed");
    }
    *found = entry->second;
    return {};
}

/// A call as it is made: everything is checked before anything is queued.
class Call {
  public:
    Call(const char* name, Kind kind, diopiComm_t comm, StreamHandle stream) : name_(name), stream_(stream) {
        status_ = find(name, comm, &comm_);
        operation_.kind = kind;
    }

    int64_t ranks() const { return status_.ok() ? comm_->nranks() : 1; }
    int64_t rank() const { return status_.ok() ? comm_->rank() : 0; }

    /// A product, or -1, which is no number of elements, where it has more than 64 bits.
    static int64_t times(int64_t one, int64_t other) {
        int64_t product = 0;
        return __builtin_mul_overflow(one, other, &product) ? -1 : product;
    }

    Call& elements(Elements elements) {
        operation_.dtype = elements.dtype;
        operation_.count = elements.count;
        if (elements.count < 0) {
            reject("the count is " + std::to_string(elements.count) + ", and must not be negative");
        }
        size_ = static_cast<std::size_t>(element_bytes(elements.dtype));
        if (size_ == 0 && status_.ok()) {
            status_ = {Code::unsupportedDtype, std::string(name_) + ": 'datatype' is no dtype of elements"};
        }
        return *this;
    }
    Call& reduces(diopiReduceOp_t op) {
        operation_.op = op;
        if (fabric::name_of(op) == nullptr) {
            reject("'op' is " + std::to_string(static_cast<int>(op)) + ", which is no diopiReduceOp_t");
        } else if (size_ > 0 && status_.ok() && !fabric::can_reduce(static_cast<diopiDtype_t>(operation_.dtype), op)) {
            status_ = {Code::unsupportedDtype, std::string(name_) + ": " + fabric::name_of(op) + " of " +
                                                   dtype_name(static_cast<diopiDtype_t>(operation_.dtype)) +
                                                   " is not defined"};
        }
        return *this;
    }
    Call& root(const char* what, int rank) {
        if (rank < 0 || rank >= ranks()) {
            reject("'" + std::string(what) + "' is " + std::to_string(rank) + ", and must be at least 0 and below " +
                   std::to_string(ranks()));
        }
        return *this;
    }
    Operation& operation() { return operation_; }

    /// A buffer of so many elements.
    Call& buffer(const char* what, const void* pointer, int64_t count, kernels::Access access) {
        uint64_t bytes = 0;
        if (status_.ok() && (count < 0 || __builtin_mul_overflow(static_cast<uint64_t>(count), size_, &bytes))) {
            reject("'" + std::string(what) + "' has more elements than there is memory");
        }
        if (bytes > 0 && pointer == nullptr) {
            reject("'" + std::string(what) + "' is null, and has " + std::to_string(count) + " elements");
        }
        buffers_.push_back({bytes > 0 ? pointer : nullptr, bytes, access});
        return *this;
    }
    /// The first buffer may be at this element of the second one; else they share no memory.
    Call& in_place_at(int64_t element) { return places(buffers_[0], buffers_[1], element); }
    /// The second may be at this element of the first one.
    Call& second_in_place_at(int64_t element) { return places(buffers_[1], buffers_[0], element); }
    Call& apart() { return places(buffers_[0], buffers_[1], -1); }

    void reject(const std::string& text) {
        if (status_.ok()) {
            status_ = invalid(name_, text);
        }
    }
    const Status& status() const { return status_; }

    using Body = std::function<void(Communicator&, const Operation&, const Kernel&)>;
    Status launch(Body body) { return launch_in(status_.ok() ? &comm_->collectives() : nullptr, std::move(body)); }
    /// A collective that is one round where its buffers are small (algorithms.h).
    Status launch_round(Body body) {
        return launch_in(status_.ok() ? &comm_->collectives() : nullptr, std::move(body), true);
    }
    Status launch_send(int peer, Body body) {
        return launch_in(status_.ok() ? &comm_->sends(peer) : nullptr, std::move(body));
    }
    Status launch_receive(int peer, Body body) {
        return launch_in(status_.ok() ? &comm_->receives(peer) : nullptr, std::move(body));
    }

  private:
    Call& places(const Buffer& inner, const Buffer& outer, int64_t element) {
        const auto* const first = static_cast<const char*>(inner.pointer);
        const auto* const second = static_cast<const char*>(outer.pointer);
        const bool overlaps =
            first != nullptr && second != nullptr && first < second + outer.bytes && second < first + inner.bytes;
        if (overlaps && (element < 0 || first != second + static_cast<uint64_t>(element) * size_)) {
            reject(element < 0 ? "the buffers share memory"
                               : "the buffers share memory, but one does not start at element " +
                                     std::to_string(element) + " of the other");
        }
        return *this;
    }

    Status launch_in(Line* line, Body body, bool is_round = false) {
        if (status_.ok()) {
            status_ = comm_->error();
        }
        if (!status_.ok()) {
            return status_;
        }
        return line->issue([&](uint64_t number) {
            operation_.number = number;
            const auto attempt = [&](const Kernel& k) {
                return comm_->attempt(line, operation_, [&] { body(*comm_, operation_, k); });
            };
            auto kernel = [comm = comm_, operation = operation_, line, body](const Kernel& k) {
                comm->run(line, operation, [&] { body(*comm, operation, k); });
            };
            return sim::launch(stream_, name_, buffers_, std::move(kernel),
                               is_round ? sim::Attempt(attempt) : sim::Attempt());
        });
    }

    const char* name_;
    StreamHandle stream_;
    Shared comm_;
    Status status_;
    Operation operation_{};
    uint64_t size_ = 0;
    std::vector<Buffer> buffers_;
};

using kernels::Access;

/// Whether a text is of the form of an id: `diopi-`, 32 digits in hexadecimal, and two numbers of 1 to 10 digits.
bool is_unique_id(const std::string& text) {
    constexpr std::size_t kDrawn = 32;
    const std::string prefix = "diopi-";
    const auto all_of = [](const std::string& part, const char* allowed) {
        return !part.empty() && part.find_first_not_of(allowed) == std::string::npos;
    };
    const auto is_number = [&](const std::string& part) { return part.size() <= 10 && all_of(part, "0123456789"); };
    const std::size_t first = prefix.size() + kDrawn;
    const std::size_t second = text.find('-', first + 1);
    return text.compare(0, prefix.size(), prefix) == 0 && text.size() > first && text[first] == '-' &&
           second != std::string::npos && all_of(text.substr(prefix.size(), kDrawn), "0123456789abcdef") &&
           is_number(text.substr(first + 1, second - first - 1)) && is_number(text.substr(second + 1));
}

}  // namespace

Status uniqueId(diopiUniqueId_t* id) {
    if (id == nullptr) {
        return invalid("diopiGetUniqueId", "'uniqueId' is null");
    }
    unsigned char random[16];
    if (getrandom(random, sizeof(random), 0) != static_cast<ssize_t>(sizeof(random))) {
        return {Code::kernelFailed, "diopiGetUniqueId: no random bytes"};
    }
    std::string digits;
    for (const unsigned char byte : random) {
        digits += "0123456789abcdef"[byte >> 4];
        digits += "0123456789abcdef"[byte & 15];
    }
    try {
        auto file = std::make_unique<fabric::SegmentFile>(digits);
        const std::string& name = file->name();
        std::memset(id->data, 0, sizeof(id->data));
        std::memcpy(id->data, name.data(), name.size());
        const std::lock_guard<std::mutex> lock(registry().mutex);
        registry().made[name] = std::move(file);
        return {};
    } catch (const std::runtime_error& failure) {
        return {Code::kernelFailed, std::string("diopiGetUniqueId: ") + failure.what()};
    }
}

Status openCommunicator(diopiComm_t* comm, int nranks, const diopiUniqueId_t* id, int rank) {
    constexpr char kName[] = "diopiCommInitRank";
    if (comm == nullptr || id == nullptr) {
        return invalid(kName, comm == nullptr ? "'comm' is null" : "'uniqueId' is null");
    }
    if (nranks < 1 || nranks > fabric::kMaxRanks) {
        return invalid(kName, "'nranks' is " + std::to_string(nranks) + ", and must be at least 1 and at most " +
                                  std::to_string(fabric::kMaxRanks));
    }
    if (rank < 0 || rank >= nranks) {
        return invalid(kName, "'rank' is " + std::to_string(rank) + ", and must be at least 0 and below " +
                                  std::to_string(nranks));
    }
    const std::string text(id->data, strnlen(id->data, sizeof(id->data)));
    if (!is_unique_id(text)) {
        return invalid(kName, "'uniqueId' is none that diopiGetUniqueId made");
    }
    fabric::Faults faults;
    if (const Status status = fabric::read_faults(&faults); !status.ok()) {
        return status;
    }
    try {
        auto created = std::make_shared<Communicator>(text, nranks, rank, faults);
        *comm = reinterpret_cast<diopiComm_t>(created.get());
        const std::lock_guard<std::mutex> lock(registry().mutex);
        registry().open[*comm] = std::move(created);
        return {};
    } catch (const std::runtime_error& failure) {
        return {Code::kernelFailed, std::string(kName) + ": " + failure.what()};
    }
}

Status closeCommunicator(diopiComm_t comm) {
    Shared found;
    const Status status = find("diopiCommDestroy", comm, &found);
    if (status.ok()) {
        found->close();
        const std::lock_guard<std::mutex> lock(registry().mutex);
        registry().open.erase(comm);
        if (found->is_complete()) {  // else ranks may come that need the file
            registry().made.erase(found->name());
        }
    }
    return status;
}

Status communicatorError(diopiComm_t comm, Status* error) {
    Shared found;
    const Status status = find("diopiGetCommAsyncError", comm, &found);
    if (status.ok()) {
        *error = found->error();
    }
    return status;
}

Status communicatorName(diopiComm_t comm, const char** name) {
    Shared found;
    const Status status = find("diopiGetCommName", comm, &found);
    if (status.ok()) {
        *name = found->name().c_str();
    }
    return status;
}

Status allReduce(const void* send, void* receive, Elements elements, diopiReduceOp_t op, diopiComm_t comm,
                 StreamHandle stream) {
    Call call("diopiAllReduce", Kind::kAllReduce, comm, stream);
    call.elements(elements).reduces(op).buffer("sendbuff", send, elements.count, Access::read);
    call.buffer("recvbuff", receive, elements.count, Access::readWrite).in_place_at(0);
    return call.launch_round([](Communicator& c, const Operation& operation, const Kernel& k) {
        fabric::allReduce(c, operation, k.in<char>(0), k.out<char>(1));
    });
}

Status broadcast(void* buffer, Elements elements, int root, diopiComm_t comm, StreamHandle stream) {
    Call call("diopiBroadcast", Kind::kBroadcast, comm, stream);
    call.elements(elements).root("root", root).buffer("buff", buffer, elements.count, Access::readWrite);
    call.operation().root = root;
    return call.launch_round([](Communicator& c, const Operation& operation, const Kernel& k) {
        fabric::broadcast(c, operation, k.out<char>(0));
    });
}

Status allGather(const void* send, void* receive, Elements elements, diopiComm_t comm, StreamHandle stream) {
    Call call("diopiAllGather", Kind::kAllGather, comm, stream);
    call.elements(elements).buffer("sendbuff", send, elements.count, Access::read);
    call.buffer("recvbuff", receive, call.times(call.ranks(), elements.count), Access::readWrite);
    call.in_place_at(call.times(call.rank(), elements.count));
    return call.launch_round([](Communicator& c, const Operation& operation, const Kernel& k) {
        fabric::allGather(c, operation, k.in<char>(0), k.out<char>(1));
    });
}

Status reduce(const void* send, void* receive, Elements elements, diopiReduceOp_t op, int root, diopiComm_t comm,
              StreamHandle stream) {
    Call call("diopiReduce", Kind::kReduce, comm, stream);
    call.elements(elements).reduces(op).root("root", root).buffer("sendbuff", send, elements.count, Access::read);
    const bool is_root = call.rank() == root;
    call.buffer("recvbuff", is_root ? receive : nullptr, is_root ? elements.count : 0, Access::readWrite)
        .in_place_at(0);
    call.operation().root = root;
    return call.launch_round([](Communicator& c, const Operation& operation, const Kernel& k) {
        fabric::reduce(c, operation, k.in<char>(0), k.out<char>(1));
    });
}

Status reduceScatter(const void* send, void* receive, Elements elements, diopiReduceOp_t op, diopiComm_t comm,
                     StreamHandle stream) {
    Call call("diopiReduceScatter", Kind::kReduceScatter, comm, stream);
    call.elements(elements).reduces(op).buffer("sendbuff", send, call.times(call.ranks(), elements.count),
                                               Access::read);
    call.buffer("recvbuff", receive, elements.count, Access::readWrite)
        .second_in_place_at(call.times(call.rank(), elements.count));
    return call.launch_round([](Communicator& c, const Operation& operation, const Kernel& k) {
        fabric::reduceScatter(c, operation, k.in<char>(0), k.out<char>(1));
    });
}

Status allToAll(const void* send, void* receive, Elements elements, diopiComm_t comm, StreamHandle stream) {
    Call call("diopiAllToAllEqualSplit", Kind::kAllToAll, comm, stream);
    call.elements(elements).buffer("sendbuff", send, call.times(call.ranks(), elements.count), Access::read);
    call.buffer("recvbuff", receive, call.times(call.ranks(), elements.count), Access::write).apart();
    return call.launch_round([](Communicator& c, const Operation& operation, const Kernel& k) {
        fabric::allToAll(c, operation, k.in<char>(0), k.out<char>(1));
    });
}

namespace {

/// The lists of a split, and how many elements a buffer has for them to fit.
int64_t read_split(Call* call, const char* what, const Split& split, fabric::Places* places) {
    const auto read = [&](const char* list, diopiSize_t from, std::vector<int64_t>* to) {
        const std::string name = "'" + std::string(what) + list + "'";
        if (from.len != call->ranks() || from.data == nullptr) {
            return call->reject(name + " has " + std::to_string(from.data == nullptr ? 0 : from.len) +
                                " entries, and must have one for each of " + std::to_string(call->ranks()) + " ranks");
        }
        for (int64_t i = 0; i < from.len; ++i) {
            // Sums of two of them, in bytes, stay in 64 bits.
            if (from.data[i] < 0 || from.data[i] > int64_t{1} << 57) {
                call->reject(name + " has the entry " + std::to_string(from.data[i]));
            }
            to->push_back(from.data[i]);
        }
    };
    read("counts", split.counts, &places->counts);
    read("displs", split.offsets, &places->offsets);
    int64_t extent = 0;
    for (std::size_t i = 0; call->status().ok() && i < places->counts.size(); ++i) {
        extent = std::max(extent, places->counts[i] > 0 ? places->counts[i] + places->offsets[i] : 0);
    }
    return extent;
}

}  // namespace

Status allToAll(const void* send, const Split& sent, void* receive, const Split& received, diopiDtype_t dtype,
                diopiComm_t comm, StreamHandle stream) {
    Call call("diopiAllToAllUnequalSplit", Kind::kAllToAllUnequal, comm, stream);
    fabric::Places from;
    fabric::Places to;
    call.elements({0, dtype}).buffer("sendbuff", send, read_split(&call, "send", sent, &from), Access::read);
    call.buffer("recvbuff", receive, read_split(&call, "recv", received, &to), Access::write).apart();
    call.operation().count = -1;
    return call.launch([from, to](Communicator& c, const Operation& operation, const Kernel& k) {
        fabric::allToAll(c, operation, k.in<char>(0), from, k.out<char>(1), to);
    });
}

Status send(const void* buffer, Elements elements, int peer, diopiComm_t comm, StreamHandle stream) {
    Call call("diopiSend", Kind::kSend, comm, stream);
    call.elements(elements).root("peer", peer).buffer("sendbuff", buffer, elements.count, Access::read);
    return call.launch_send(peer, [peer](Communicator& c, const Operation& operation, const Kernel& k) {
        fabric::send(c, operation, peer, k.in<char>(0));
    });
}

Status receive(void* buffer, Elements elements, int peer, diopiComm_t comm, StreamHandle stream) {
    Call call("diopiRecv", Kind::kSend, comm, stream);
    call.elements(elements).root("peer", peer).buffer("recvbuff", buffer, elements.count, Access::write);
    return call.launch_receive(peer, [peer](Communicator& c, const Operation& operation, const Kernel& k) {
        fabric::receive(c, operation, peer, k.out<char>(0));
    });
}

}  // namespace diopigen::sim
