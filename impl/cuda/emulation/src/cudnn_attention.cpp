// Graphs of attention as cuDNN's frontend builds them. Written from its documentation and its headers: it checks what
// they check, and computes as fused kernels do, with probabilities and gradients of scores in the operands' dtype.
#include <cudnn_frontend.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "cudnn_calls.h"
#include "diopi_core/half.h"
#include "emulation/launch.h"

namespace cudnn_frontend::graph {

namespace {

using diopigen::core::Bfloat16;
using diopigen::core::Half;
using diopigen::cuda::emulation::dnn::is_mode;
using diopigen::cuda::emulation::dnn::note;
using Operation = Graph::Operation;
using Pack = std::unordered_map<int64_t, void*>;

constexpr int64_t kWorkspace = 256;

// The tensors that a call must bring.
std::vector<EmulatedTensor> tensors_of(const Operation& operation) {
    const EmulatedScores& scores = operation.scores;
    std::vector<EmulatedTensor> all;
    for (const EmulatedTensor& tensor :
         {operation.q, operation.k, operation.v, operation.out, operation.statistics, operation.grad_out,
          operation.grad_q, operation.grad_k, operation.grad_v, scores.query_counts, scores.key_counts,
          scores.dropout_mask, scores.dropout_factor, scores.dropout_inverse, operation.q->starts,
          operation.k->starts}) {
        if (tensor != nullptr) {
            all.push_back(tensor);
        }
    }
    return all;
}

bool has_dim(const EmulatedTensor& tensor, const std::vector<int64_t>& dim, DataType_t type) {
    return tensor != nullptr && tensor->dim == dim && tensor->type == type;
}

// Why cuDNN would not take it, or nothing.
std::string fault_of(const Operation& operation) {
    const EmulatedScores& scores = operation.scores;
    const EmulatedTensor& q = operation.q;
    const EmulatedTensor& k = operation.k;
    if (q->dim.size() != 4 || k->dim.size() != 4 || operation.v->dim != k->dim) {
        return "dimensions of q, k and v";
    }
    const int64_t batch = q->dim[0];
    const int64_t heads = q->dim[1];
    const int64_t queries = q->dim[2];
    const int64_t keys = k->dim[2];
    const int64_t size = q->dim[3];
    if (k->dim[0] != batch || k->dim[3] != size || k->dim[1] <= 0 || heads % k->dim[1] != 0) {
        return "number of heads for key and query must be a factor of number of heads for query";
    }
    if (size % 8 != 0 || size > 256) {
        return "hidden_dim should be multiple of 8 and at most 256";
    }
    std::set<int64_t> uids;
    for (const EmulatedTensor& tensor : tensors_of(operation)) {
        if (tensor->uid == 0 || !uids.insert(tensor->uid).second || tensor->dim.size() != 4 ||
            tensor->stride.size() != 4 || tensor->type == DataType_t::NOT_SET || tensor->stride[3] != 1) {
            return "a tensor without a uid of its own, dimensions, strides or dtype";
        }
    }
    const bool is_half = q->type == DataType_t::HALF || q->type == DataType_t::BFLOAT16;
    for (const EmulatedTensor& tensor : {operation.q, operation.out, operation.grad_out, operation.grad_q}) {
        if (tensor != nullptr && (!has_dim(tensor, q->dim, q->type) || !is_half)) {
            return "queries, outputs and their gradients";
        }
    }
    for (const EmulatedTensor& tensor : {operation.v, operation.grad_k, operation.grad_v}) {
        if (tensor != nullptr && !has_dim(tensor, k->dim, q->type)) {
            return "keys, values and their gradients";
        }
    }
    if (!has_dim(operation.statistics, {batch, heads, queries, 1}, DataType_t::FLOAT) || !scores.scale.has_value() ||
        operation.statistics->stride != std::vector<int64_t>{heads * queries, queries, 1, 1}) {
        return "statistics must be a packed BHSD tensor";
    }
    const bool is_ragged = q->starts != nullptr || k->starts != nullptr;
    if (is_ragged && !scores.has_padding) {
        return "Ragged offsets are only supported with padding mask.";
    }
    if (scores.has_padding != (scores.query_counts != nullptr && scores.key_counts != nullptr)) {
        return "Padding mask requires seq_len_q and seq_len_kv to be set.";
    }
    for (const EmulatedTensor& counts : {scores.query_counts, scores.key_counts}) {
        if (counts != nullptr && !has_dim(counts, {batch, 1, 1, 1}, DataType_t::INT32)) {
            return "lengths of sequences";
        }
    }
    for (const EmulatedTensor& starts : {q->starts, k->starts}) {
        if (is_ragged && !has_dim(starts, {batch + 1, 1, 1, 1}, DataType_t::INT32)) {
            return "ragged offsets";
        }
    }
    const bool is_bottom_right = scores.right.has_value() && scores.alignment == DiagonalAlignment_t::BOTTOM_RIGHT;
    if ((is_bottom_right || scores.left.has_value()) && !scores.has_padding && queries > keys) {
        return "Bottom right causal mask does not support max_s_q > max_s_kv.";
    }
    if (is_bottom_right && scores.dropout_mask != nullptr) {
        return "Bottom right causal mask is only supported with is_dropout=False.";
    }
    if ((scores.left.has_value() && *scores.left <= 0) || (scores.right.has_value() && *scores.right < 0)) {
        return "Left bound (Sliding window length) should be greater than zero when set.";
    }
    if (scores.dropout_mask != nullptr) {
        const bool has_inverse = scores.dropout_inverse != nullptr;
        if (!has_dim(scores.dropout_mask, {batch, heads, queries, keys}, q->type) ||
            !has_dim(scores.dropout_factor, {1, 1, 1, 1}, DataType_t::FLOAT) || has_inverse != operation.is_gradient) {
            return "mask and factors of dropout";
        }
    }
    if (operation.is_gradient) {
        const bool are_outputs =
            operation.grad_q->is_output && operation.grad_k->is_output && operation.grad_v->is_output;
        if (!scores.is_deterministic || !are_outputs || (queries == 1 && keys == 1)) {
            return "gradients that are no outputs, or change from run to run";
        }
        return scores.has_totals && !is_ragged ? "max_total_seq_len_q is only supported with packed layout" : "";
    }
    return scores.has_statistics && operation.out->is_output && operation.statistics->is_output ? "" : "outputs";
}

// A tensor in memory.
template <typename P>
struct Elements {
    P* data;
    std::vector<int64_t> stride;
    const int32_t* starts;

    P& at(int64_t b, int64_t h, int64_t row, int64_t d) const {
        return data[(starts != nullptr ? starts[b] : b * stride[0]) + h * stride[1] + row * stride[2] + d * stride[3]];
    }
};

template <typename P>
Elements<P> elements(const EmulatedTensor& tensor, const Pack& pack) {
    if (tensor == nullptr) {
        return {nullptr, {}, nullptr};
    }
    const EmulatedTensor& starts = tensor->starts;
    return {static_cast<P*>(pack.at(tensor->uid)), tensor->stride,
            starts == nullptr ? nullptr : static_cast<const int32_t*>(pack.at(starts->uid))};
}

// One head of one sequence.
template <typename P>
class Head {
  public:
    Head(const Operation& operation, const Pack& pack, int64_t b, int64_t h)
        : scores_(operation.scores),
          b_(b),
          h_(h),
          kv_(h / (operation.q->dim[1] / operation.k->dim[1])),
          size_(operation.q->dim[3]),
          queries_(count(scores_.query_counts, operation.q->dim[2], pack)),
          keys_(count(scores_.key_counts, operation.k->dim[2], pack)),
          q_(elements<P>(operation.q, pack)),
          k_(elements<P>(operation.k, pack)),
          v_(elements<P>(operation.v, pack)),
          out_(elements<P>(operation.out, pack)),
          grad_out_(elements<P>(operation.grad_out, pack)),
          mask_(elements<P>(scores_.dropout_mask, pack)),
          statistics_(elements<float>(operation.statistics, pack)),
          factor_(mask_.data == nullptr ? 1 : *elements<float>(scores_.dropout_factor, pack).data) {}

    int64_t keys() const { return keys_; }
    int64_t queries() const { return queries_; }

    void forward(int64_t longest) const {
        std::vector<float> weights(static_cast<size_t>(keys_));
        for (int64_t i = 0; i < queries_; ++i) {
            float top = -std::numeric_limits<float>::infinity();
            for (int64_t j = 0; j < keys_; ++j) {
                weights[static_cast<size_t>(j)] = score(i, j);
                top = std::fmax(top, weights[static_cast<size_t>(j)]);
            }
            float total = 0;
            for (int64_t j = 0; j < keys_; ++j) {
                float& weight = weights[static_cast<size_t>(j)];
                weight = std::exp(weight - top);
                total += weight;
                weight = static_cast<float>(P(weight * keep_factor(i, j)));
            }
            for (int64_t d = 0; d < size_; ++d) {
                float sum = 0;
                for (int64_t j = 0; j < keys_; ++j) {
                    sum += weights[static_cast<size_t>(j)] * static_cast<float>(v_.at(b_, kv_, j, d));
                }
                out_.at(b_, h_, i, d) = P(sum / total);
            }
            statistics_.at(b_, h_, i, 0) = top + std::log(total);
        }
        for (int64_t i = queries_; i < longest; ++i) {  // of no sequence: not to be relied on
            statistics_.at(b_, h_, i, 0) = std::numeric_limits<float>::quiet_NaN();
        }
    }

    // Adds to the gradients of a sequence: [queries, size] of this head, [keys, size] of its keys.
    void backward(float* to_q, float* to_k, float* to_v) const {
        for (int64_t i = 0; i < queries_; ++i) {
            const float centre = dot(grad_out_, h_, i, out_, h_, i);
            for (int64_t j = 0; j < keys_; ++j) {
                const float weight = std::exp(score(i, j) - statistics_.at(b_, h_, i, 0));
                const float to_weight = dot(grad_out_, h_, i, v_, kv_, j) * keep_factor(i, j);
                const float dropped = static_cast<float>(P(weight * keep_factor(i, j)));
                const float to_score = static_cast<float>(P(*scores_.scale * weight * (to_weight - centre)));
                for (int64_t d = 0; d < size_; ++d) {
                    to_q[i * size_ + d] += to_score * static_cast<float>(k_.at(b_, kv_, j, d));
                    to_k[j * size_ + d] += to_score * static_cast<float>(q_.at(b_, h_, i, d));
                    to_v[j * size_ + d] += dropped * static_cast<float>(grad_out_.at(b_, h_, i, d));
                }
            }
        }
    }

  private:
    int64_t count(const EmulatedTensor& counts, int64_t all, const Pack& pack) const {
        return counts == nullptr ? all : static_cast<const int32_t*>(pack.at(counts->uid))[b_];
    }
    float dot(const Elements<P>& a, int64_t a_head, int64_t i, const Elements<P>& b, int64_t b_head, int64_t j) const {
        float sum = 0;
        for (int64_t d = 0; d < size_; ++d) {
            sum += static_cast<float>(a.at(b_, a_head, i, d)) * static_cast<float>(b.at(b_, b_head, j, d));
        }
        return sum;
    }
    float score(int64_t i, int64_t j) const {
        const int64_t shift = scores_.alignment == DiagonalAlignment_t::BOTTOM_RIGHT ? keys_ - queries_ : 0;
        const bool is_hidden =
            (scores_.right.has_value() && i + shift + *scores_.right < j) ||
            (scores_.left.has_value() && j + *scores_.left <= i + shift);  // the left bound counts the diagonal
        return is_hidden ? -std::numeric_limits<float>::infinity() : *scores_.scale * dot(q_, h_, i, k_, kv_, j);
    }
    float keep_factor(int64_t i, int64_t j) const {
        return mask_.data == nullptr ? 1 : factor_ * static_cast<float>(mask_.at(b_, h_, i, j));
    }

    const EmulatedScores& scores_;
    int64_t b_;
    int64_t h_;
    int64_t kv_;
    int64_t size_;
    int64_t queries_;
    int64_t keys_;
    Elements<P> q_;
    Elements<P> k_;
    Elements<P> v_;
    Elements<P> out_;
    Elements<P> grad_out_;
    Elements<P> mask_;
    Elements<float> statistics_;
    float factor_;
};

template <typename P>
void store(const Elements<P>& to, int64_t b, int64_t h, int64_t rows, int64_t size, const std::vector<float>& from) {
    for (int64_t at = 0; at < rows * size; ++at) {
        to.at(b, h, at / size, at % size) = P(from[static_cast<size_t>(at)]);
    }
}

template <typename P>
void run(const Operation& operation, const Pack& pack) {
    const diopigen::cuda::emulation::Access access;
    const int64_t size = operation.q->dim[3];
    const int64_t shared = operation.q->dim[1] / operation.k->dim[1];
    for (int64_t b = 0; b < operation.q->dim[0]; ++b) {
        std::vector<float> to_k;
        std::vector<float> to_v;
        for (int64_t h = 0; h < operation.q->dim[1]; ++h) {
            const Head<P> head(operation, pack, b, h);
            if (!operation.is_gradient) {
                head.forward(operation.q->dim[2]);
                continue;
            }
            std::vector<float> to_q(static_cast<size_t>(head.queries() * size), 0);
            if (h % shared == 0) {
                to_k.assign(static_cast<size_t>(head.keys() * size), 0);
                to_v = to_k;
            }
            head.backward(to_q.data(), to_k.data(), to_v.data());
            store(elements<P>(operation.grad_q, pack), b, h, head.queries(), size, to_q);
            store(elements<P>(operation.grad_k, pack), b, h / shared, head.keys(), size, to_k);
            store(elements<P>(operation.grad_v, pack), b, h / shared, head.keys(), size, to_v);
        }
    }
}

std::string text_of(const Operation& operation) {
    return std::string("attention") + (operation.is_gradient ? ", gradient" : "") +
           (operation.q->starts != nullptr ? ", joined" : "") +
           (operation.scores.dropout_mask != nullptr ? ", dropout" : "");
}

}  // namespace

Graph& Graph::set_io_data_type(DataType_t value) {
    io_ = value;
    return *this;
}
Graph& Graph::set_intermediate_data_type(DataType_t value) {
    intermediate_ = value;
    return *this;
}
Graph& Graph::set_compute_data_type(DataType_t value) {
    compute_ = value;
    return *this;
}

EmulatedTensor Graph::tensor(const Tensor_attributes& attributes) {
    return std::make_shared<Tensor_attributes>(attributes);
}

std::array<EmulatedTensor, 2> Graph::sdpa(const EmulatedTensor& q, const EmulatedTensor& k, const EmulatedTensor& v,
                                          const SDPA_attributes& attributes) {
    operation_.q = q;
    operation_.k = k;
    operation_.v = v;
    operation_.out = tensor({});
    operation_.statistics = tensor({});
    operation_.scores = attributes.scores;
    return {operation_.out, operation_.statistics};
}

std::array<EmulatedTensor, 3> Graph::sdpa_backward(const EmulatedTensor& q, const EmulatedTensor& k,
                                                   const EmulatedTensor& v, const EmulatedTensor& out,
                                                   const EmulatedTensor& grad_out, const EmulatedTensor& statistics,
                                                   const SDPA_backward_attributes& attributes) {
    operation_ = {true, q, k, v, out, statistics, grad_out, tensor({}), tensor({}), tensor({}), attributes.scores};
    return {operation_.grad_q, operation_.grad_k, operation_.grad_v};
}

error_t Graph::pass(Stage from, Stage to) {
    if (stage_ != from) {
        return error_t("a graph is built in another order");
    }
    stage_ = to;
    return error_t();
}

error_t Graph::validate() {
    const bool has_types =
        io_ == operation_.q->type && intermediate_ == DataType_t::FLOAT && compute_ == DataType_t::FLOAT;
    const std::string fault = has_types ? fault_of(operation_) : "Intermediate tensor data type needs to be set";
    return fault.empty() ? pass(Stage::kDeclared, Stage::kValidated) : error_t(fault);
}
error_t Graph::build_operation_graph(cudnnHandle_t /*handle*/) { return pass(Stage::kValidated, Stage::kLowered); }
error_t Graph::create_execution_plans(const std::vector<HeurMode_t>& modes) {
    return modes.empty() ? error_t("no heuristic") : pass(Stage::kLowered, Stage::kProposed);
}
error_t Graph::check_support(cudnnHandle_t /*handle*/) {
    return is_mode(nullptr) ? pass(Stage::kProposed, Stage::kSupported) : error_t("No valid engine configs");
}
error_t Graph::build_plans(cudnnHandle_t /*handle*/) { return pass(Stage::kSupported, Stage::kBuilt); }

error_t Graph::get_workspace_size(int64_t& bytes) const {
    bytes = kWorkspace;
    return error_t(stage_ == Stage::kBuilt ? "" : "no plan");
}

error_t Graph::execute(cudnnHandle_t handle, std::unordered_map<int64_t, void*>& pack, void* workspace) const {
    cudaStream_t stream = nullptr;
    if (stage_ != Stage::kBuilt || workspace == nullptr || is_mode("refuse") ||
        cudnnGetStream(handle, &stream) != CUDNN_STATUS_SUCCESS) {
        return error_t("the plan does not run");
    }
    for (const EmulatedTensor& tensor : tensors_of(operation_)) {
        const auto found = pack.find(tensor->uid);
        if (found == pack.end() || found->second == nullptr || reinterpret_cast<uintptr_t>(found->second) % 16 != 0) {
            return error_t("a tensor without memory at 16 bytes");
        }
    }
    note(text_of(operation_).c_str());
    const Operation operation = operation_;
    const Pack memory = pack;
    const auto work = [operation, memory] {
        if (operation.q->type == DataType_t::HALF) {
            run<Half>(operation, memory);
        } else {
            run<Bfloat16>(operation, memory);
        }
    };
    return error_t(diopigen::cuda::emulation::submit(stream, work) == cudaSuccess ? "" : "the stream takes no work");
}

}  // namespace cudnn_frontend::graph
