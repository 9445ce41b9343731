// Elementwise operators over operands of the type that is computed in: neighbours of the innermost dimension to a
// thread.
#ifndef DIOPI_CUDA_ELEMENTWISE_VECTORS_H_
#define DIOPI_CUDA_ELEMENTWISE_VECTORS_H_

#include "diopi_cuda/elementwise_operands.h"

namespace diopigen::cuda::detail {

// Elements of S in one access: eight of the short ones are enough.
template <typename S>
constexpr int kWidth = sizeof(S) == 1 ? 8 : kVectorSize<S>;

// The operands of a loop. S is the type that those of kind e and r are stored in: T, or a half where T is float.
template <typename Kinds, typename T, typename S>
struct VectorOperands {
    static constexpr int kInputs = Kinds::kInputs;
    static constexpr int kOutputs = Kinds::kOutputs;
    static constexpr int kOperands = kInputs + kOutputs;
    // Many operands by shorter vectors: registers would be too few for enough threads.
    static constexpr int kN = kOperands > 6 && kWidth<S> > 4 ? 4 : kWidth<S>;

    template <int k>
    struct Types {
        using V = typename KindOf<T, Kinds::at(k)>::type;
        using Stored = std::conditional_t<std::is_same_v<V, float>, std::conditional_t<is_half(dtype_of<S>), S, V>, V>;
    };

    Paths<kOperands> paths;  // of the dimensions around the innermost one
    Common common;
    Slot numbers[kInputs > 0 ? kInputs : 1];
    int64_t inner = 1;           // elements of the innermost dimension
    int64_t strides[kOperands];  // along it, in bytes
    bool is_vector[kOperands];   // vectors are one access
    Divider per_row;             // vectors in it

    struct Forms {
        VectorOperands& call;
        const ElementwiseJob& job;
        template <int k>
        void at() {
            using Stored = typename Types<k>::Stored;
            call.is_vector[k] = has_vectors(job.dims, job.operands[k], sizeof(AlignedVector<Stored, kN>));
        }
    };

    explicit VectorOperands(const ElementwiseJob& job)
        : paths(job.dims, job.operands, job.dims.rank > 0 ? job.dims.rank - 1 : 0), common(common_of<T>(job)) {
        inner = job.dims.rank > 0 ? job.dims.sizes[paths.rank] : 1;
        per_row = Divider((inner + kN - 1) / kN);
        for (int k = 0; k < kOperands; ++k) {
            strides[k] = job.dims.rank > 0 ? job.operands[k].strides[paths.rank] : 0;
        }
        Forms forms{*this, job};
        unroll_on_host<kOperands>(forms);
        NumbersOf<Kinds, T> filled{job, numbers};
        unroll_on_host<kInputs>(filled);
    }

    // All operands are asked for before the first is waited for: as they are stored, to be converted later.
    struct Loads {
        const VectorOperands& call;
        Item* items;
        char* const* addresses;
        int used;
        template <int k>
        DIOPI_DEVICE void at() {
            using Stored = typename Types<k>::Stored;
            if (call.is_vector[k] && used == kN) {
                const auto vector = vector_at<AlignedVector<Stored, kN>>(addresses[k]);
                DIOPI_UNROLL
                for (int i = 0; i < kN; ++i) {
                    items[i].inputs[k].template as<Stored>() = vector.elements[i];
                }
            } else if (call.strides[k] != 0) {
                DIOPI_UNROLL
                for (int i = 0; i < kN; ++i) {
                    const int at = i < used ? i : 0;  // unused ones read some element
                    items[i].inputs[k].template as<Stored>() =
                        *reinterpret_cast<const Stored*>(addresses[k] + at * call.strides[k]);
                }
            } else if (call.paths.data[k] != nullptr) {
                const auto value = *reinterpret_cast<const Stored*>(addresses[k]);
                DIOPI_UNROLL
                for (int i = 0; i < kN; ++i) {
                    items[i].inputs[k].template as<Stored>() = value;
                }
            }
        }
    };

    struct Conversions {
        const VectorOperands& call;
        Item* items;
        template <int k>
        DIOPI_DEVICE void at() {
            using V = typename Types<k>::V;
            using Stored = typename Types<k>::Stored;
            if (call.paths.data[k] == nullptr) {
                const V number = call.numbers[k].template as<V>();
                DIOPI_UNROLL
                for (int i = 0; i < kN; ++i) {
                    items[i].inputs[k].template as<V>() = number;
                }
            } else if constexpr (!std::is_same_v<V, Stored> || std::is_same_v<V, Bool>) {
                DIOPI_UNROLL
                for (int i = 0; i < kN; ++i) {
                    const Stored stored = items[i].inputs[k].template as<Stored>();
                    items[i].inputs[k].template as<V>() = cast<V>(stored);
                }
            }
        }
    };

    struct Stores {
        const VectorOperands& call;
        Item* items;
        char* const* addresses;
        int used;
        template <int k>
        DIOPI_DEVICE void at() {
            constexpr int kAt = kInputs + k;
            using V = typename Types<kAt>::V;
            using Stored = typename Types<kAt>::Stored;
            if (call.is_vector[kAt] && used == kN) {
                AlignedVector<Stored, kN> vector;
                DIOPI_UNROLL
                for (int i = 0; i < kN; ++i) {
                    vector.elements[i] = cast<Stored>(items[i].outputs[k].template as<V>());
                }
                vector_at<AlignedVector<Stored, kN>>(addresses[kAt]) = vector;
            } else if (call.paths.data[kAt] != nullptr) {
                DIOPI_UNROLL
                for (int i = 0; i < kN; ++i) {
                    if (i < used) {
                        *reinterpret_cast<Stored*>(addresses[kAt] + i * call.strides[kAt]) =
                            cast<Stored>(items[i].outputs[k].template as<V>());
                    }
                }
            }
        }
    };

    // Where the operands of a vector lie, how many of its elements there are, and the position of the first.
    DIOPI_DEVICE int64_t find(int64_t vector, char* (&at)[kOperands], int& used) const {
        uint32_t row = 0;
        int64_t first = vector * kN;
        if (paths.rank > 0) {  // then there are less than 2^31 vectors
            auto column = static_cast<uint32_t>(vector);
            row = per_row.split(column);
            first = static_cast<int64_t>(column) * kN;
        }
        paths.find(row, at);
        DIOPI_UNROLL
        for (int k = 0; k < kOperands; ++k) {
            at[k] += first * strides[k];
        }
        const int64_t left = inner - first;
        used = left < kN ? static_cast<int>(left) : kN;
        return static_cast<int64_t>(row) * inner + first;
    }
    DIOPI_DEVICE void read(Item* items, char* const* at, int used) const {
        Loads loads{*this, items, at, used};
        unroll<kInputs>(loads);
        Conversions conversions{*this, items};
        unroll<kInputs>(conversions);
    }
    DIOPI_DEVICE void write(Item* items, char* const* at, int used) const {
        Stores stores{*this, items, at, used};
        unroll<kOutputs>(stores);
    }
};

template <typename Loop, typename T, typename S>
struct VectorKernel : VectorOperands<KindsOf<Loop>, T, S> {
    using VectorOperands<KindsOf<Loop>, T, S>::VectorOperands;

    DIOPI_DEVICE void operator()(int64_t vector) const {
        work(vector, std::make_integer_sequence<int, VectorKernel::kN>());
    }

  private:
    // One Item for each element of the vector: they have no default constructor.
    template <int... i>
    DIOPI_DEVICE void work(int64_t vector, std::integer_sequence<int, i...>) const {
        char* at[VectorKernel::kOperands];
        int used = 0;
        const int64_t position = this->find(vector, at, used);
        Item items[] = {Item(this->common, position + i)...};
        this->read(items, at, used);
        // All of them, so that the work on one element need not wait for that on another.
        DIOPI_UNROLL
        for (int k = 0; k < VectorKernel::kN; ++k) {
            Loop::template run<T>(items[k]);
        }
        this->write(items, at, used);
    }
};

// Of so many elements.
template <typename Kernel>
int64_t vectors_in(const Kernel& kernel, int64_t count) {
    return count / kernel.inner * ((kernel.inner + Kernel::kN - 1) / Kernel::kN);
}

template <typename Loop, typename T, typename S>
void launch_vectors(const ElementwiseJob& job, int64_t count) {
    const VectorKernel<Loop, T, S> kernel(job);
    for_each(vectors_in(kernel, count), kernel);
}

}  // namespace diopigen::cuda::detail

#endif  // DIOPI_CUDA_ELEMENTWISE_VECTORS_H_
