// What all ways to gradients of attention have in common: the tensors of a call, and kernels for the rows of all
// queries and of all keys.
#ifndef DIOPI_CUDA_ATTENTION_GRADIENT_ROWS_H_
#define DIOPI_CUDA_ATTENTION_GRADIENT_ROWS_H_

#include "backward.h"
#include "diopi_core/raw_elements.h"

namespace diopigen::cuda {

// Dense arrays of P that gradients are written to.
template <typename P>
struct Gradients {
    P* q;
    P* k;
    P* v;
};

// The tensors of a call in row-major order. They must outlive it.
struct GradientArrays {
    RawInput q;
    RawInput k;
    RawInput v;
    RawInput out;
    RawInput grad_out;
    RawOutput grad_q;
    RawOutput grad_k;
    RawOutput grad_v;

    GradientArrays(const attention::Operands& operands, const attention::GradientTensors& tensors)
        : q(operands.q),
          k(operands.k),
          v(operands.v),
          out(tensors.out),
          grad_out(tensors.grad_out),
          grad_q(tensors.q),
          grad_k(tensors.k),
          grad_v(tensors.v) {}

    template <typename P>
    GradientInputs<P> inputs(const StatisticsIndex& index_of, const float* shifts, const float* sums) const {
        return {q.as<P>(), k.as<P>(), v.as<P>(), out.as<P>(), grad_out.as<P>(), index_of, shifts, sums};
    }
    template <typename P>
    Gradients<P> gradients() const {
        return {grad_q.as<P>(), grad_k.as<P>(), grad_v.as<P>()};
    }
    void store() const {
        grad_q.store();
        grad_k.store();
        grad_v.store();
    }
};

template <typename P>
struct RowGradients {
    DeviceProblem problem;
    Scoring scoring;
    GradientInputs<P> inputs;
    Gradients<P> gradients;

    int64_t query_bytes() const { return tile_bytes<float>(problem.size, 1); }
    int64_t key_bytes() const { return tile_bytes<float>(problem.size, 2); }
};

// By a group with query_bytes() of shared memory, for a row [queries of all sequences, heads].
template <typename P>
struct QueryGradient : RowGradients<P> {
    DIOPI_DEVICE void operator()(Group& group, int64_t row) const {
        const QueryRow index(this->problem, row);
        query_gradient(group, this->problem, this->scoring, this->inputs, this->problem.sequences[index.sequence],
                       index.sequence, index.head, index.query, this->gradients.q);
    }
};

// By a group with key_bytes() of shared memory, for a row [keys of all sequences, heads with keys].
template <typename P>
struct KeyGradient : RowGradients<P> {
    DIOPI_DEVICE void operator()(Group& group, int64_t row) const {
        const int64_t s = this->problem.sequence_of_key(row / this->problem.kv_heads);
        key_gradient(group, this->problem, this->scoring, this->inputs, this->problem.sequences[s], s,
                     row % this->problem.kv_heads, row / this->problem.kv_heads - this->problem.key_rows_before[s],
                     this->gradients.k, this->gradients.v);
    }
};

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_ATTENTION_GRADIENT_ROWS_H_
