// What is taken from oneDNN. Every function returns false where it did nothing: without oneDNN, or where oneDNN has no
// implementation for this machine. Then own loops do the work.
#ifndef DIOPI_CPU_ONEDNN_H_
#define DIOPI_CPU_ONEDNN_H_

#include "diopi_core/gemm.h"

namespace diopigen::cpu::onednn {

using namespace core;

// gemm_block for float: in this thread alone.
bool multiply(const ProductSize& size, float alpha, const Matrix<float>& a, const Matrix<float>& b, float beta,
              float* c, int64_t stride);

// c = alpha a b + beta c for a batch of bfloat16 matrices, added up in float32 and rounded once, over all threads.
bool multiply(const ProductSize& size, float alpha, const Matrix<Bfloat16>& a, const Matrix<Bfloat16>& b, float beta,
              Bfloat16* c, int64_t stride, int64_t batch_stride);

}  // namespace diopigen::cpu::onednn

#endif  // DIOPI_CPU_ONEDNN_H_
