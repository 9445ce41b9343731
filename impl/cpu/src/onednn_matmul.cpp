#include "onednn.h"

#ifdef DIOPI_CPU_ONEDNN
#include <algorithm>
#include <dnnl.hpp>
#include <string>

#include "diopi_core/dense.h"
#include "thread_pool.h"
#endif

namespace diopigen::cpu::onednn {

#ifdef DIOPI_CPU_ONEDNN

namespace {

// Sets the number of threads that oneDNN starts from this thread to one.
class Alone {
  public:
    Alone() : previous_(thread_pool::limit_others(1)) {}
    ~Alone() { thread_pool::limit_others(previous_); }
    Alone(const Alone&) = delete;
    Alone& operator=(const Alone&) = delete;

  private:
    int previous_;
};

// A matrix as sgemm reads it fast. Kernels for less than AVX-512 walk down the inner dimension; where its steps are a
// multiple of 1 KiB, few sets of the first cache hold all of it, and rows are copied to ones that lie apart.
class Spread {
  public:
    // The inner dimension of `matrix` has steps of its stride; `across` elements are adjacent.
    Spread(const Matrix<float>& matrix, bool is_down, int64_t inner, int64_t across, int64_t uses)
        : data(matrix.data), stride(matrix.stride) {
        constexpr int64_t kLeast = 32;   // uses of an element that are worth a copy
        constexpr int64_t kFewest = 16;  // steps that come to the same sets
        static const bool is_concerned = dnnl::get_effective_cpu_isa() < dnnl::cpu_isa::avx512_core;
        if (!is_concerned || !is_down || stride % kConflict != 0 || inner < kFewest || uses < kLeast) {
            return;
        }
        stride = spread_stride(across);
        copy_.allocate(inner * stride * static_cast<int64_t>(sizeof(float)));
        auto* const target = static_cast<float*>(copy_.data());
        for (int64_t k = 0; k < inner; ++k) {
            std::copy_n(data + k * matrix.stride, across, target + k * stride);
        }
        data = target;
    }

    const float* data;
    int64_t stride;

  private:
    Buffer copy_;
};

using Memory = dnnl::memory;

Memory::desc layout_of(const Matrix<Bfloat16>& matrix, int64_t count, int64_t rows, int64_t columns) {
    const int64_t down = matrix.is_transposed ? 1 : matrix.stride;
    const int64_t across = matrix.is_transposed ? matrix.stride : 1;
    return Memory::desc({count, rows, columns}, Memory::data_type::bf16,
                        {count == 1 ? rows * columns : matrix.batch_stride, down, across});
}

}  // namespace

bool multiply(const ProductSize& size, float alpha, const Matrix<float>& a, const Matrix<float>& b, float beta,
              float* c, int64_t stride) {
    const Alone alone;
    const Spread first(a, a.is_transposed, size.inner, size.rows, size.columns);
    const Spread second(b, !b.is_transposed, size.inner, size.columns, size.rows);
    return dnnl_sgemm(a.is_transposed ? 'T' : 'N', b.is_transposed ? 'T' : 'N', size.rows, size.columns, size.inner,
                      alpha, first.data, first.stride, second.data, second.stride, beta, c, stride) == dnnl_success;
}

bool multiply(const ProductSize& size, float alpha, const Matrix<Bfloat16>& a, const Matrix<Bfloat16>& b, float beta,
              Bfloat16* c, int64_t stride, int64_t batch_stride) {
    if (size.count * size.rows * size.columns * size.inner == 0) {
        return false;
    }
    try {
        static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
        const PoolForOthers pool;
        dnnl::post_ops finish;
        if (alpha != 1) {
            finish.append_eltwise(dnnl::algorithm::eltwise_linear, alpha, 0);
        }
        if (beta != 0) {
            finish.append_sum(beta);
        }
        dnnl::primitive_attr attributes;
        attributes.set_post_ops(finish);
        const Memory::desc from_a = layout_of(a, size.count, size.rows, size.inner);
        const Memory::desc from_b = layout_of(b, size.count, size.inner, size.columns);
        const Memory::desc to = layout_of({c, stride, false, batch_stride}, size.count, size.rows, size.columns);
        const dnnl::matmul::primitive_desc selected(engine, from_a, from_b, to, attributes, true);
        // The reference implementation is slower than a product in float.
        if (!selected || std::string(selected.impl_info_str()).find("ref") != std::string::npos) {
            return false;
        }
        const dnnl::matmul primitive(selected);
        dnnl::stream stream(engine);
        primitive.execute(stream, {{DNNL_ARG_SRC, Memory(from_a, engine, const_cast<Bfloat16*>(a.data))},
                                   {DNNL_ARG_WEIGHTS, Memory(from_b, engine, const_cast<Bfloat16*>(b.data))},
                                   {DNNL_ARG_DST, Memory(to, engine, c)}});
        stream.wait();
        return true;
    } catch (const dnnl::error&) {
        return false;
    }
}

#else

bool multiply(const ProductSize&, float, const Matrix<float>&, const Matrix<float>&, float, float*, int64_t) {
    return false;
}

bool multiply(const ProductSize&, float, const Matrix<Bfloat16>&, const Matrix<Bfloat16>&, float, Bfloat16*, int64_t,
              int64_t) {
    return false;
}

#endif

}  // namespace diopigen::cpu::onednn
