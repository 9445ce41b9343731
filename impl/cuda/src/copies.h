// The ways of copying between tensors in device memory.
#ifndef DIOPI_CUDA_COPIES_H_
#define DIOPI_CUDA_COPIES_H_

#include "diopi_cuda/paths.h"

namespace diopigen::cuda {

// A copy as the host has worked it out: dimensions are in the order that the target has in memory.
struct CopyJob {
    Dims dims;
    Operand operands[2];               // the target, and what is copied; without data: the number
    alignas(16) char number[16] = {};  // in the dtype of the target
    int64_t count = 0;

    const Operand& to() const { return operands[0]; }
    const Operand& from() const { return operands[1]; }
    // Positions within 32 bits suffice for kernels that take a vector of the innermost dimension to a thread.
    bool is_short() const { return dims.rank <= 1 || count <= kMaxShort; }
};

// Neighbours of the innermost dimension to a thread. `To` and `From` are what the operands are stored as.
template <typename To, typename From>
struct CopyKernel {
    static constexpr int kSmaller = sizeof(To) < sizeof(From) ? sizeof(To) : sizeof(From);
    // Eight are enough where both sides have to be converted.
    static constexpr int kN = std::is_same_v<To, From> || kSmaller > 1 ? 16 / kSmaller : 8;

    detail::Paths<2> paths;  // of the dimensions around the innermost one
    int64_t inner;
    Divider per_row;
    int64_t to_stride;
    int64_t from_stride;
    bool writes_vectors;
    bool reads_vectors;
    To number;

    explicit CopyKernel(const CopyJob& job)
        : paths(job.dims, job.operands, job.dims.rank > 0 ? job.dims.rank - 1 : 0),
          inner(job.dims.rank > 0 ? job.dims.sizes[paths.rank] : 1),
          per_row((inner + kN - 1) / kN),
          to_stride(job.dims.rank > 0 ? job.to().strides[paths.rank] : 0),
          from_stride(job.dims.rank > 0 ? job.from().strides[paths.rank] : 0),
          writes_vectors(detail::has_vectors(job.dims, job.to(), sizeof(AlignedVector<To, kN>))),
          reads_vectors(detail::has_vectors(job.dims, job.from(), sizeof(AlignedVector<From, kN>))) {
        std::memcpy(static_cast<void*>(&number), job.number, sizeof(To));
    }
    int64_t vectors(int64_t count) const { return count / inner * ((inner + kN - 1) / kN); }

    DIOPI_DEVICE void operator()(int64_t vector) const {
        uint32_t row = 0;
        int64_t first = vector * kN;
        if (paths.rank > 0) {  // then there are less than 2^31 vectors
            auto column = static_cast<uint32_t>(vector);
            row = per_row.split(column);
            first = static_cast<int64_t>(column) * kN;
        }
        char* at[2];
        paths.find(row, at);
        char* const to = at[0] + first * to_stride;
        char* const from = at[1] + first * from_stride;
        const int64_t left = inner - first;
        const int used = left < kN ? static_cast<int>(left) : kN;
        AlignedVector<From, kN> read;
        if (reads_vectors && used == kN) {
            read = detail::vector_at<AlignedVector<From, kN>>(from);
        } else if (paths.data[1] != nullptr) {
            DIOPI_UNROLL
            for (int i = 0; i < kN; ++i) {
                if (i < used) {
                    read.elements[i] = *reinterpret_cast<const From*>(from + i * from_stride);
                }
            }
        }
        AlignedVector<To, kN> written;
        DIOPI_UNROLL
        for (int i = 0; i < kN; ++i) {
            if constexpr (std::is_same_v<To, From> && dtype_of<To> != Dtype::kBool) {
                written.elements[i] = paths.data[1] == nullptr ? number : read.elements[i];
            } else {
                written.elements[i] = cast<To>(read.elements[i]);
            }
        }
        if (writes_vectors && used == kN) {
            detail::vector_at<AlignedVector<To, kN>>(to) = written;
        } else {
            DIOPI_UNROLL
            for (int i = 0; i < kN; ++i) {
                if (i < used) {
                    *reinterpret_cast<To*>(to + i * to_stride) = written.elements[i];
                }
            }
        }
    }
};

template <typename To, typename From>
void copy_vectors(const CopyJob& job) {
    const CopyKernel<To, From> kernel(job);
    for_each(kernel.vectors(job.count), kernel);
}

// Between dtypes that are often converted. Returns whether these are.
bool cast_vectors(const CopyJob& job);

// Whether what is contiguous in one operand is not in the other, and enough of it in both; then by tiles.
bool can_exchange(const CopyJob& job);
void exchange(const CopyJob& job);

}  // namespace diopigen::cuda

#endif  // DIOPI_CUDA_COPIES_H_
