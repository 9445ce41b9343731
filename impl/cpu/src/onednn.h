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

// The distance of rows of floats that sgemm reads fast, for copies: rows are a cache line apart, and their distance
// is no multiple of 1 KiB, which would bring all rows into few sets of the first cache.
constexpr int64_t kConflict = 256;
inline int64_t spread_stride(int64_t length) {
    constexpr int64_t kLine = 16;
    const int64_t stride = (length + kLine - 1) / kLine * kLine + kLine;
    return stride % kConflict == 0 ? stride + kLine : stride;
}

// c = alpha a b + beta c for a batch of bfloat16 matrices, added up in float32 and rounded once, over all threads.
bool multiply(const ProductSize& size, float alpha, const Matrix<Bfloat16>& a, const Matrix<Bfloat16>& b, float beta,
              Bfloat16* c, int64_t stride, int64_t batch_stride);

}  // namespace diopigen::cpu::onednn

#endif  // DIOPI_CPU_ONEDNN_H_
