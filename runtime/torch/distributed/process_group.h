// The c10d backend "dicl" over the collectives of the vendor's library. One object is one group of ranks.
#ifndef DIOPIGEN_TORCH_DISTRIBUTED_PROCESS_GROUP_H_
#define DIOPIGEN_TORCH_DISTRIBUTED_PROCESS_GROUP_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "communicator.h"
#include "work.h"

namespace diopigen::distributed {

using Tensors = std::vector<at::Tensor>;
using TensorLists = std::vector<Tensors>;
using Handle = c10::intrusive_ptr<c10d::Work>;
using StorePtr = c10::intrusive_ptr<c10d::Store>;

class ProcessGroup final : public c10d::Backend {
  public:
    struct Options final : Backend::Options {
        explicit Options(std::chrono::milliseconds limit) : Backend::Options("dicl", limit) {}
        Options(const Options& other) : Options(other.timeout) { group_name = other.group_name; }
        Options& operator=(const Options&) = delete;
    };

    ProcessGroup(StorePtr store, int rank, int size, std::chrono::milliseconds timeout);
    ~ProcessGroup() override;

    const std::string getBackendName() const override { return "dicl"; }
    bool supportsCoalescing() const override { return true; }
    bool supportsSplitting() const override { return true; }
    void startCoalescing() override;
    Handle endCoalescing() override;
    void setTimeout(std::chrono::milliseconds timeout) override { timeout_ = timeout; }
    void setSequenceNumberForGroup() override {}
    uint64_t getSequenceNumberForGroup() override { return number_; }
    c10::intrusive_ptr<Backend::Options> getBackendOptions() override { return options(); }
    c10::intrusive_ptr<Options> options() const { return c10::make_intrusive<Options>(timeout_); }
    c10::intrusive_ptr<Backend> split(const StorePtr& store, const std::vector<int>& ranks,
                                      const c10::intrusive_ptr<Backend::Options>& options) override;
    bool supportsShrinking() const override { return true; }
    /// The group without some of its ranks, which do not call.
    c10::intrusive_ptr<Backend> shrink(const std::vector<int64_t>& without, int flags,
                                       const c10::intrusive_ptr<Backend::Options>& options) override;
    /// A group of ranks that have a store and numbers in common, and nothing else.
    c10::intrusive_ptr<Backend> merge(const StorePtr& store, const c10::intrusive_ptr<Backend::Options>& options,
                                      const int& rank, const int& size) override;
    void eagerConnectSingleDevice(at::Device device) override;
    void abort() override;
    void shutdown() override;
    void waitForPendingWorks() override { watchdog_->drain(); }
    c10d::ErrorType getError() override;
    /// The last collectives, one a line.
    std::string dump() const { return watchdog_->dump(); }

    Handle allreduce(Tensors& tensors, const c10d::AllreduceOptions& options) override;
    Handle allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& options) override;
    Handle broadcast(Tensors& tensors, const c10d::BroadcastOptions& options) override;
    Handle reduce(Tensors& tensors, const c10d::ReduceOptions& options) override;
    Handle allgather(TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override;
    Handle _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& options) override;
    Handle allgather_coalesced(TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions& options) override;
    Handle allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                           const c10d::AllgatherOptions& options) override;
    Handle reduce_scatter(Tensors& outputs, TensorLists& inputs, const c10d::ReduceScatterOptions& options) override;
    Handle _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                const c10d::ReduceScatterOptions& options) override;
    Handle reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                           const c10d::ReduceScatterOptions& options) override;
    Handle alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_splits,
                         std::vector<int64_t>& input_splits, const c10d::AllToAllOptions& options) override;
    Handle alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& options) override;
    Handle gather(TensorLists& outputs, Tensors& inputs, const c10d::GatherOptions& options) override;
    Handle scatter(Tensors& outputs, TensorLists& inputs, const c10d::ScatterOptions& options) override;
    Handle send(Tensors& tensors, int peer, int tag) override;
    Handle recv(Tensors& tensors, int peer, int tag) override;
    Handle barrier(const c10d::BarrierOptions& options) override;

  private:
    struct Call {
        c10d::OpType op;
        Tensors inputs;
        Tensors outputs;
        std::chrono::milliseconds timeout = c10d::kUnsetTimeout;
        bool is_async = true;  ///< else the caller waits next, and the current stream may do the work
        bool is_receiving = false;
        bool is_blocking = false;
    };
    /// Puts a call whose operands are contiguous on the stream of a communicator, which is the current stream.
    using Body = std::function<void(const Call&, diopiComm_t, diopiStreamHandle_t)>;
    Handle run(const Call& call, const std::shared_ptr<Communicator>& communicator, const Body& body);
    Handle run(const Call& call, const Body& body);
    std::shared_ptr<Communicator> communicator_on(c10::Device device);
    std::shared_ptr<Communicator> communicator_with(c10::Device device, int peer);
    /// The communicator of this key, made where there is none yet. A failure is one of the group.
    std::shared_ptr<Communicator> connect(const std::string& key, c10::Device device, int rank, int size);
    diopiUniqueId_t unique_id(const std::string& key, int size);
    /// Raises where a call of the group, or a communicator, has failed, whether or not the watchdog has noticed.
    void check_works();
    void abort_all();

    const StorePtr store_;
    std::chrono::milliseconds timeout_;
    uint64_t number_ = 0;
    uint64_t shrinks_ = 0;
    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<Communicator>> communicators_;
    bool is_coalescing_ = false;
    std::vector<std::shared_ptr<Communicator>> coalesced_communicators_;
    std::vector<c10::Stream> coalesced_streams_;
    Tensors coalesced_outputs_;
    std::unique_ptr<Watchdog> watchdog_;
};

}  // namespace diopigen::distributed

#endif  // DIOPIGEN_TORCH_DISTRIBUTED_PROCESS_GROUP_H_
