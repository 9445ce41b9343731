// Enqueues calls on streams; collectives.cpp has the calls.
#include "process_group.h"

#include <ATen/Context.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/GradMode.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>

namespace diopigen::distributed {

namespace {

void check_tensor(const at::Tensor& tensor) {
    TORCH_CHECK(tensor.device().type() == kDevice, "the backend dicl has collectives for tensors of ",
                c10::Device(kDevice), ", and this one is on ", tensor.device(),
                ": init_process_group with a backend for each device, such as 'cpu:gloo,...:dicl'");
    TORCH_CHECK(tensor.layout() == at::kStrided, "collectives take dense tensors, and this one is ", tensor.layout());
}

Tensors contiguous(const Tensors& tensors) {
    Tensors copies;
    for (const at::Tensor& tensor : tensors) {
        copies.push_back(tensor.contiguous());
    }
    return copies;
}

}  // namespace

ProcessGroup::ProcessGroup(StorePtr store, int rank, int size, std::chrono::milliseconds timeout)
    : Backend(rank, size), store_(std::move(store)), timeout_(timeout) {
    watchdog_ = std::make_unique<Watchdog>([this](const std::string& text) {
        std::string report = "rank " + std::to_string(rank_) + " of the process group '" + getGroupUid() +
                             "': " + text + "\nthe last collectives:\n" + watchdog_->dump();
        const char* const path = std::getenv("DIOPI_COLLECTIVES_DUMP");
        if (path != nullptr && *path != '\0') {
            std::ofstream(path + ("." + std::to_string(rank_)), std::ios::app) << report;
        } else {
            std::cerr << report;
        }
        abort_all();
    });
}

ProcessGroup::~ProcessGroup() {
    watchdog_.reset();
    abort_all();
}

c10::intrusive_ptr<c10d::Backend> ProcessGroup::split(const StorePtr& store, const std::vector<int>& ranks,
                                                      const c10::intrusive_ptr<Backend::Options>& options) {
    const auto own = std::find(ranks.begin(), ranks.end(), rank_);
    if (own == ranks.end()) {
        return nullptr;
    }
    std::string name = "split";
    for (const int rank : ranks) {
        name += ":" + std::to_string(rank);
    }
    const auto size = static_cast<int>(ranks.size());
    auto created = c10::make_intrusive<ProcessGroup>(c10::make_intrusive<c10d::PrefixStore>(name, store),
                                                     static_cast<int>(own - ranks.begin()), size,
                                                     options ? options->timeout : timeout_);
    created->setGroupUid(options && !options->group_name.empty() ? options->group_name : name);
    return created;
}

c10::intrusive_ptr<c10d::Backend> ProcessGroup::shrink(const std::vector<int64_t>& without, int flags,
                                                       const c10::intrusive_ptr<Backend::Options>& options) {
    constexpr int kAbort = 1;  // SHRINK_ABORT of torch.distributed
    std::vector<int> ranks;
    for (int rank = 0; rank < size_; ++rank) {
        if (std::find(without.begin(), without.end(), rank) == without.end()) {
            ranks.push_back(rank);
        }
    }
    if ((flags & kAbort) != 0) {
        abort();
    }
    const std::string prefix = "shrink:" + std::to_string(++shrinks_);  // as often on all ranks that are left
    auto created = split(c10::make_intrusive<c10d::PrefixStore>(prefix, store_), ranks, options);
    TORCH_CHECK(created != nullptr, "rank ", rank_, " is left out of the group, and must not shrink it");
    return created;
}

c10::intrusive_ptr<c10d::Backend> ProcessGroup::merge(const StorePtr& store,
                                                      const c10::intrusive_ptr<Backend::Options>& options,
                                                      const int& rank, const int& size) {
    auto created = c10::make_intrusive<ProcessGroup>(c10::make_intrusive<c10d::PrefixStore>("merge", store), rank, size,
                                                     options ? options->timeout : timeout_);
    created->setGroupUid(options && !options->group_name.empty() ? options->group_name : "merge");
    return created;
}

diopiUniqueId_t ProcessGroup::unique_id(const std::string& key, int size) {
    diopiUniqueId_t id{};
    const std::string came = key + ":came";
    const std::string read = key + ":read";
    // Whichever rank comes first makes the id: none waits for the calls of another one.
    if (store_->add(came, 1) == 1) {
        TORCH_CHECK_WITH(DistBackendError, diopiGetUniqueId != nullptr,
                         "diopiGetUniqueId is not in the vendor's library");
        check(diopiGetUniqueId(&id), "diopiGetUniqueId");
        store_->set(key, std::vector<uint8_t>(id.data, id.data + sizeof(id.data)));
    } else {
        store_->wait({key}, timeout_);
        const std::vector<uint8_t> bytes = store_->get(key);
        TORCH_CHECK_WITH(DistBackendError, bytes.size() == sizeof(id.data), "the store has no id at ", key);
        std::memcpy(id.data, bytes.data(), bytes.size());
    }
    if (store_->add(read, 1) == size) {  // a later group may have the same store, and the same keys
        for (const std::string& used : {key, came, read}) {
            store_->deleteKey(used);
        }
    }
    return id;
}

std::shared_ptr<Communicator> ProcessGroup::connect(const std::string& key, c10::Device device, int rank, int size) {
    check_works();
    std::string failure;
    {
        const std::lock_guard<std::mutex> lock(mutex_);
        std::shared_ptr<Communicator>& communicator = communicators_[key];
        if (communicator != nullptr) {
            return communicator;
        }
        try {
            at::globalContext().lazyInitDevice(kDevice);
            const c10::DeviceGuard guard(device);
            communicator = std::make_shared<Communicator>(device, size, unique_id(key, size), rank, timeout_);
            return communicator;
        } catch (const c10::Error& error) {
            failure = error.what_without_backtrace();
        } catch (const std::exception& error) {
            failure = error.what();
        }
    }
    // Without the lock, which ending takes. Other ranks may have this communicator: the group is of no further use.
    failure = "the communicator '" + key + "' was not made: " + failure;
    watchdog_->end(failure);
    TORCH_CHECK_WITH(DistBackendError, false, failure);
}

void ProcessGroup::check_works() {
    std::string text = watchdog_->failure();
    if (text.empty()) {
        {
            const std::lock_guard<std::mutex> lock(mutex_);
            for (const auto& entry : communicators_) {
                text = text.empty() && entry.second != nullptr ? entry.second->error() : text;
            }
        }
        if (!text.empty()) {
            watchdog_->end(text);
        }
    }
    TORCH_CHECK_WITH(DistBackendError, text.empty(), "the process group has failed: ", text);
}

std::shared_ptr<Communicator> ProcessGroup::communicator_on(c10::Device device) {
    // The device differs from rank to rank: a rank has one communicator.
    TORCH_CHECK(device.has_index(), "collectives need a device with an index");
    return connect("all", device, rank_, size_);
}

std::shared_ptr<Communicator> ProcessGroup::communicator_with(c10::Device device, int peer) {
    TORCH_CHECK(peer != rank_ && peer >= 0 && peer < size_, "rank ", rank_, " cannot exchange messages with rank ",
                peer);
    const int low = std::min(rank_, peer);
    const int high = std::max(rank_, peer);
    return connect("pair:" + std::to_string(low) + ":" + std::to_string(high), device, rank_ == low ? 0 : 1, 2);
}

void ProcessGroup::eagerConnectSingleDevice(at::Device device) { communicator_on(device); }

Handle ProcessGroup::run(const Call& call, const Body& body) {
    const at::Tensor& first = call.inputs.empty() ? call.outputs.front() : call.inputs.front();
    check_tensor(first);
    return run(call, communicator_on(first.device()), body);
}

Handle ProcessGroup::run(const Call& call, const std::shared_ptr<Communicator>& communicator, const Body& body) {
    for (const Tensors* const tensors : {&call.inputs, &call.outputs}) {
        for (const at::Tensor& tensor : *tensors) {
            check_tensor(tensor);
        }
    }
    const c10::DeviceGuard device(communicator->device());
    const c10::Stream current = current_stream(communicator->device());
    const bool is_on_current = !call.is_async && !is_coalescing_;
    const c10::Stream other = call.is_receiving ? communicator->receiving() : communicator->stream();
    const c10::Stream stream = is_on_current ? current : other;
    const auto timeout = call.timeout == c10d::kUnsetTimeout ? timeout_ : call.timeout;
    const at::Tensor& first = call.inputs.empty() ? call.outputs.front() : call.inputs.front();
    auto flight =
        std::make_shared<Flight>(std::vector{communicator}, timeout, watchdog_->record(++number_, call.op, &first));
    const auto issue = [&] {  // on the current stream; operands with gaps are copied, and results copied back
        const c10::NoGradGuard no_gradient;
        Call dense = call;
        dense.inputs = contiguous(call.inputs);
        dense.outputs = contiguous(call.outputs);
        body(dense, communicator->handle(), handle_of(stream));
        for (size_t i = 0; i < call.outputs.size(); ++i) {
            if (!dense.outputs[i].is_same(call.outputs[i])) {
                call.outputs[i].copy_(dense.outputs[i]);
            }
        }
    };
    if (is_on_current) {
        issue();
    } else {
        c10::Event ready(kDevice);
        ready.record(current);
        ready.block(stream);
        {
            const c10::StreamGuard guard(stream);
            issue();
        }
        const c10::impl::VirtualGuardImpl guard(kDevice);
        for (const Tensors* const tensors : {&call.inputs, &call.outputs}) {
            for (const at::Tensor& tensor : *tensors) {
                guard.recordDataPtrOnStream(tensor.storage().data_ptr(), stream);
            }
        }
    }
    flight->issued({stream});
    watchdog_->add(flight);
    auto work = c10::make_intrusive<Work>(rank_, std::move(flight), call.outputs);
    if (call.is_blocking) {
        work->make_blocking();
    }
    if (is_coalescing_) {
        coalesced_communicators_.push_back(communicator);
        coalesced_streams_.push_back(stream);
        coalesced_outputs_.insert(coalesced_outputs_.end(), call.outputs.begin(), call.outputs.end());
    }
    return work;
}

void ProcessGroup::startCoalescing() { is_coalescing_ = true; }

Handle ProcessGroup::endCoalescing() {
    is_coalescing_ = false;
    if (coalesced_communicators_.empty()) {
        return nullptr;
    }
    auto flight = std::make_shared<Flight>(std::exchange(coalesced_communicators_, {}), timeout_,
                                           watchdog_->record(++number_, c10d::OpType::COALESCED, nullptr));
    flight->issued(std::exchange(coalesced_streams_, {}));
    watchdog_->add(flight);
    return c10::make_intrusive<Work>(rank_, std::move(flight), std::exchange(coalesced_outputs_, {}));
}

c10d::ErrorType ProcessGroup::getError() {
    return watchdog_->failure().empty() ? c10d::ErrorType::SUCCESS : c10d::ErrorType::COMM_ERROR;
}

void ProcessGroup::abort_all() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& entry : communicators_) {
        if (entry.second != nullptr) {
            try {
                entry.second->abort();
            } catch (const std::exception& error) {
                std::cerr << "rank " << rank_ << ": " << error.what() << '\n';
            }
        }
    }
}

void ProcessGroup::abort() { watchdog_->end("the process group was aborted"); }

void ProcessGroup::shutdown() {
    watchdog_->drain();
    abort_all();
}

}  // namespace diopigen::distributed
