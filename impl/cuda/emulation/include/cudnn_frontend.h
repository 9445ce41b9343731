// The part of cuDNN's frontend that the library uses: graphs of one attention. Names are those of the frontend, and so
// is the order in which a graph is built. It has a plan only where DIOPI_CUDA_EMULATION_DNN is set: else the library's
// own kernels do the work. Where it is `refuse`, a plan does not run.
#ifndef DIOPI_CUDA_EMULATION_CUDNN_FRONTEND_H_
#define DIOPI_CUDA_EMULATION_CUDNN_FRONTEND_H_

#include <cudnn.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace cudnn_frontend {

enum class DataType_t { NOT_SET, HALF, BFLOAT16, FLOAT, INT32 };
enum class DiagonalAlignment_t { TOP_LEFT, BOTTOM_RIGHT };
enum class HeurMode_t { A };

// Good where it has no message.
class [[nodiscard]] error_object {
  public:
    explicit error_object(std::string message = {}) : message_(std::move(message)) {}
    bool is_good() const { return message_.empty(); }
    const std::string& get_message() const { return message_; }

  private:
    std::string message_;
};
using error_t = error_object;

namespace graph {

class Tensor_attributes;
using EmulatedTensor = std::shared_ptr<Tensor_attributes>;

class Tensor_attributes {
  public:
    Tensor_attributes& set_uid(int64_t value) { return set(uid, value); }
    Tensor_attributes& set_dim(const std::vector<int64_t>& value) { return set(dim, value); }
    Tensor_attributes& set_stride(const std::vector<int64_t>& value) { return set(stride, value); }
    Tensor_attributes& set_data_type(DataType_t value) { return set(type, value); }
    Tensor_attributes& set_ragged_offset(const EmulatedTensor& value) { return set(starts, value); }
    Tensor_attributes& set_output(bool value) { return set(is_output, value); }

    int64_t uid = 0;
    std::vector<int64_t> dim;
    std::vector<int64_t> stride;
    DataType_t type = DataType_t::NOT_SET;
    EmulatedTensor starts;
    bool is_output = false;

  private:
    template <typename V>
    Tensor_attributes& set(V& member, const V& value) {
        member = value;
        return *this;
    }
};

// What the two attentions are told alike.
struct EmulatedScores {
    std::optional<float> scale;
    bool has_padding = false;
    EmulatedTensor query_counts;
    EmulatedTensor key_counts;
    DiagonalAlignment_t alignment = DiagonalAlignment_t::TOP_LEFT;
    std::optional<int64_t> left;
    std::optional<int64_t> right;
    EmulatedTensor dropout_mask;
    EmulatedTensor dropout_factor;
    EmulatedTensor dropout_inverse;
    bool has_statistics = false;
    bool is_deterministic = false;
    bool has_totals = false;
};

template <typename Own>
class EmulatedAttributes {
  public:
    Own& set_name(const std::string& /*value*/) { return own(); }
    Own& set_attn_scale(float value) { return set(scores.scale, std::optional<float>(value)); }
    Own& set_padding_mask(bool value) { return set(scores.has_padding, value); }
    Own& set_seq_len_q(const EmulatedTensor& value) { return set(scores.query_counts, value); }
    Own& set_seq_len_kv(const EmulatedTensor& value) { return set(scores.key_counts, value); }
    Own& set_diagonal_alignment(DiagonalAlignment_t value) { return set(scores.alignment, value); }
    Own& set_diagonal_band_left_bound(int value) { return set(scores.left, std::optional<int64_t>(value)); }
    Own& set_diagonal_band_right_bound(int value) { return set(scores.right, std::optional<int64_t>(value)); }

    EmulatedScores scores;

  protected:
    Own& own() { return static_cast<Own&>(*this); }
    template <typename V>
    Own& set(V& member, const V& value) {
        member = value;
        return own();
    }
};

class SDPA_attributes : public EmulatedAttributes<SDPA_attributes> {
  public:
    SDPA_attributes& set_generate_stats(bool value) { return set(scores.has_statistics, value); }
    SDPA_attributes& set_dropout(const EmulatedTensor& mask, const EmulatedTensor& factor) {
        scores.dropout_mask = mask;
        return set(scores.dropout_factor, factor);
    }
};

class SDPA_backward_attributes : public EmulatedAttributes<SDPA_backward_attributes> {
  public:
    SDPA_backward_attributes& set_deterministic_algorithm(bool value) { return set(scores.is_deterministic, value); }
    SDPA_backward_attributes& set_max_total_seq_len_q(int64_t /*value*/) { return set(scores.has_totals, true); }
    SDPA_backward_attributes& set_max_total_seq_len_kv(int64_t /*value*/) { return set(scores.has_totals, true); }
    SDPA_backward_attributes& set_dropout(const EmulatedTensor& mask, const EmulatedTensor& factor,
                                          const EmulatedTensor& inverse) {
        scores.dropout_mask = mask;
        scores.dropout_inverse = inverse;
        return set(scores.dropout_factor, factor);
    }
};

class Graph {
  public:
    Graph& set_io_data_type(DataType_t value);
    Graph& set_intermediate_data_type(DataType_t value);
    Graph& set_compute_data_type(DataType_t value);
    EmulatedTensor tensor(const Tensor_attributes& attributes);
    // [out, statistics].
    std::array<EmulatedTensor, 2> sdpa(const EmulatedTensor& q, const EmulatedTensor& k, const EmulatedTensor& v,
                                       const SDPA_attributes& attributes);
    // Gradients of q, k and v.
    std::array<EmulatedTensor, 3> sdpa_backward(const EmulatedTensor& q, const EmulatedTensor& k,
                                                const EmulatedTensor& v, const EmulatedTensor& out,
                                                const EmulatedTensor& grad_out, const EmulatedTensor& statistics,
                                                const SDPA_backward_attributes& attributes);
    // To be called in this order.
    error_t validate();
    error_t build_operation_graph(cudnnHandle_t handle);
    error_t create_execution_plans(const std::vector<HeurMode_t>& modes);
    error_t check_support(cudnnHandle_t handle);
    error_t build_plans(cudnnHandle_t handle);
    error_t get_workspace_size(int64_t& bytes) const;
    error_t execute(cudnnHandle_t handle, std::unordered_map<int64_t, void*>& pack, void* workspace) const;

    // What the operation reads and writes; those that it does not have are null.
    struct Operation {
        bool is_gradient = false;
        EmulatedTensor q, k, v, out, statistics, grad_out, grad_q, grad_k, grad_v;
        EmulatedScores scores;
    };

  private:
    // How far a graph is built.
    enum class Stage { kDeclared, kValidated, kLowered, kProposed, kSupported, kBuilt };
    error_t pass(Stage from, Stage to);

    DataType_t io_ = DataType_t::NOT_SET;
    DataType_t intermediate_ = DataType_t::NOT_SET;
    DataType_t compute_ = DataType_t::NOT_SET;
    Operation operation_;
    Stage stage_ = Stage::kDeclared;
};

}  // namespace graph
}  // namespace cudnn_frontend

#endif  // DIOPI_CUDA_EMULATION_CUDNN_FRONTEND_H_
