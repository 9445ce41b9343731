// Fused attention is a graph of one operation to cuDNN, built by its frontend. Plans are cached by what they depend on.
#include "diopi_cuda/fused_attention.h"

#include <cudnn_frontend.h>

#include <cstring>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "dnn_descriptions.h"
#include "linalg_matmul/batches.h"

namespace diopigen::cuda {

namespace {

namespace fe = cudnn_frontend;
using fe::graph::Graph;
using fe::graph::Tensor_attributes;
using TensorPtr = std::shared_ptr<Tensor_attributes>;
using Ints = std::vector<int64_t>;
using Name = FusedTensor;

int64_t uid_of(Name name) { return static_cast<int64_t>(name) + 1; }

// A graph, and the tensors that have been declared in it.
class Plan {
  public:
    explicit Plan(const FusedAttention& attention) : attention_(attention) {
        graph_.set_io_data_type(type()).set_intermediate_data_type(fe::DataType_t::FLOAT);
        graph_.set_compute_data_type(fe::DataType_t::FLOAT);
        if (attention.is_gradient) {
            declare_gradient();
        } else {
            declare_forward();
        }
    }

    // False where cuDNN has no engine for it. Engines whose results change from run to run are left out.
    bool build(cudnnHandle_t handle) {
        return graph_.validate().is_good() && graph_.build_operation_graph(handle).is_good() &&
               graph_.create_execution_plans({fe::HeurMode_t::A}).is_good() && graph_.check_support(handle).is_good() &&
               graph_.build_plans(handle).is_good() && graph_.get_workspace_size(workspace_).is_good();
    }

    bool run(cudnnHandle_t handle, const FusedMemory& memory) {
        std::unordered_map<int64_t, void*> pack;
        for (size_t k = 0; k < memory.size(); ++k) {
            if (memory[k] != nullptr) {
                pack[static_cast<int64_t>(k) + 1] = memory[k];
            }
        }
        Buffer workspace;
        workspace.allocate(workspace_);
        return graph_.execute(handle, pack, workspace.data()).is_good();
    }

  private:
    fe::DataType_t type() const {
        return attention_.dtype == Dtype::kFloat16 ? fe::DataType_t::HALF : fe::DataType_t::BFLOAT16;
    }
    Ints query_sizes() const { return {attention_.batch, attention_.heads, attention_.queries, attention_.size}; }
    Ints key_sizes() const { return {attention_.batch, attention_.kv_heads, attention_.keys, attention_.size}; }
    static Ints row_major(const Ints& sizes) {
        return {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
    }

    TensorPtr declare(Name name, const Ints& sizes, fe::DataType_t of) {
        return graph_.tensor(
            Tensor_attributes().set_uid(uid_of(name)).set_dim(sizes).set_stride(row_major(sizes)).set_data_type(of));
    }
    // Heads of rows: [batch, heads, rows, size] as cuDNN counts, with the heads of a row next to each other in memory.
    void lay_out(const TensorPtr& tensor, Name name, const Ints& sizes, const TensorPtr& starts) const {
        tensor->set_uid(uid_of(name)).set_dim(sizes).set_data_type(type());
        tensor->set_stride({sizes[1] * sizes[2] * sizes[3], sizes[3], sizes[1] * sizes[3], 1});
        if (starts != nullptr) {
            tensor->set_ragged_offset(starts);
        }
    }
    TensorPtr rows(Name name, const Ints& sizes, const TensorPtr& starts) {
        TensorPtr tensor = graph_.tensor(Tensor_attributes());
        lay_out(tensor, name, sizes, starts);
        return tensor;
    }
    static void give_out(const TensorPtr& tensor) { tensor->set_output(true); }

    // What forward and backward have alike.
    template <typename Attributes>
    void set_scores(Attributes& attributes) {
        attributes.set_attn_scale(attention_.scale);
        if (attention_.left >= 0 || attention_.right >= 0) {
            attributes.set_diagonal_alignment(attention_.is_square ? fe::DiagonalAlignment_t::TOP_LEFT
                                                                   : fe::DiagonalAlignment_t::BOTTOM_RIGHT);
        }
        if (attention_.left >= 0) {
            // cuDNN counts the diagonal itself.
            attributes.set_diagonal_band_left_bound(static_cast<int>(attention_.left) + 1);
        }
        if (attention_.right >= 0) {
            attributes.set_diagonal_band_right_bound(static_cast<int>(attention_.right));
        }
        if (attention_.is_joined) {
            const Ints counts = {attention_.batch, 1, 1, 1};
            const Ints starts = {attention_.batch + 1, 1, 1, 1};
            attributes.set_padding_mask(true)
                .set_seq_len_q(declare(Name::kQueryCounts, counts, fe::DataType_t::INT32))
                .set_seq_len_kv(declare(Name::kKeyCounts, counts, fe::DataType_t::INT32));
            query_starts_ = declare(Name::kQueryStarts, starts, fe::DataType_t::INT32);
            key_starts_ = declare(Name::kKeyStarts, starts, fe::DataType_t::INT32);
        }
    }
    TensorPtr dropout_mask() {
        return declare(Name::kDropoutMask, {attention_.batch, attention_.heads, attention_.queries, attention_.keys},
                       type());
    }
    TensorPtr factor(Name name) { return declare(name, {1, 1, 1, 1}, fe::DataType_t::FLOAT); }
    Ints statistics_sizes() const { return {attention_.batch, attention_.heads, attention_.queries, 1}; }

    void declare_forward() {
        fe::graph::SDPA_attributes attributes;
        attributes.set_name("attention").set_generate_stats(true);
        set_scores(attributes);
        if (attention_.has_dropout) {
            attributes.set_dropout(dropout_mask(), factor(Name::kDropoutFactor));
        }
        const TensorPtr q = rows(Name::kQuery, query_sizes(), query_starts_);
        const TensorPtr k = rows(Name::kKey, key_sizes(), key_starts_);
        const TensorPtr v = rows(Name::kValue, key_sizes(), key_starts_);
        const auto [out, statistics] = graph_.sdpa(q, k, v, attributes);
        lay_out(out, Name::kOut, query_sizes(), query_starts_);
        give_out(out);
        const Ints sizes = statistics_sizes();
        statistics->set_uid(uid_of(Name::kStatistics)).set_dim(sizes).set_stride(row_major(sizes));
        statistics->set_data_type(fe::DataType_t::FLOAT);
        give_out(statistics);
    }

    void declare_gradient() {
        fe::graph::SDPA_backward_attributes attributes;
        attributes.set_name("attention_gradient").set_deterministic_algorithm(true);
        set_scores(attributes);
        if (attention_.has_dropout) {
            attributes.set_dropout(dropout_mask(), factor(Name::kDropoutFactor), factor(Name::kDropoutInverse));
        }
        if (attention_.is_joined && attention_.size % 16 == 0) {
            // A bound of the workspace; the frontend does without it for other sizes.
            attributes.set_max_total_seq_len_q(attention_.total_queries)
                .set_max_total_seq_len_kv(attention_.total_keys);
        }
        const TensorPtr q = rows(Name::kQuery, query_sizes(), query_starts_);
        const TensorPtr k = rows(Name::kKey, key_sizes(), key_starts_);
        const TensorPtr v = rows(Name::kValue, key_sizes(), key_starts_);
        const TensorPtr out = rows(Name::kOut, query_sizes(), query_starts_);
        const TensorPtr grad_out = rows(Name::kGradOut, query_sizes(), query_starts_);
        const TensorPtr statistics = declare(Name::kStatistics, statistics_sizes(), fe::DataType_t::FLOAT);
        const auto [to_q, to_k, to_v] = graph_.sdpa_backward(q, k, v, out, grad_out, statistics, attributes);
        lay_out(to_q, Name::kGradQuery, query_sizes(), query_starts_);
        lay_out(to_k, Name::kGradKey, key_sizes(), key_starts_);
        lay_out(to_v, Name::kGradValue, key_sizes(), key_starts_);
        for (const TensorPtr& tensor : {to_q, to_k, to_v}) {
            give_out(tensor);
        }
    }

    FusedAttention attention_;
    Graph graph_;
    TensorPtr query_starts_;
    TensorPtr key_starts_;
    int64_t workspace_ = 0;
};

Ints key_of(const FusedAttention& a, int device) {
    int32_t scale = 0;
    std::memcpy(&scale, &a.scale, sizeof scale);
    return {device,
            static_cast<int64_t>(a.dtype),
            a.is_gradient,
            a.batch,
            a.heads,
            a.kv_heads,
            a.queries,
            a.keys,
            a.size,
            a.is_joined,
            a.total_queries,
            a.total_keys,
            a.left,
            a.right,
            a.is_square,
            a.has_dropout,
            scale};
}

// The plan of a key, or null where there is none. The caller owns the handle, which is exclusive.
std::unique_ptr<Plan>& plan_of(const dnn::Handle& handle, const FusedAttention& attention) {
    constexpr size_t kMost = 256;
    static std::map<Ints, std::unique_ptr<Plan>> plans;
    const Ints key = key_of(attention, handle.device());
    const auto known = plans.find(key);
    if (known != plans.end()) {
        return known->second;
    }
    if (plans.size() >= kMost) {
        plans.clear();
    }
    auto plan = std::make_unique<Plan>(attention);
    if (!plan->build(handle)) {
        plan.reset();
    }
    return plans[key] = std::move(plan);
}

}  // namespace

FusedDevice fused_device() {
    int device = 0;
    FusedDevice result;
    check(cudaGetDevice(&device), "ask for the device");
    check(cudaDeviceGetAttribute(&result.major, cudaDevAttrComputeCapabilityMajor, device), "ask for its capability");
    result.version = static_cast<int64_t>(cudnnGetVersion());
    return result;
}

bool run_fused_attention(const FusedAttention& attention, const FusedMemory& memory) {
    const dnn::Handle handle;
    std::unique_ptr<Plan>& plan = plan_of(handle, attention);
    if (plan == nullptr || !plan->run(handle, memory)) {
        plan.reset();  // own kernels from now on
        return false;
    }
    return true;
}

}  // namespace diopigen::cuda
