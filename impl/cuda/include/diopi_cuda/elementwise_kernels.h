// The kernels of elementwise.h.
#ifndef DIOPI_CUDA_ELEMENTWISE_KERNELS_H_
#define DIOPI_CUDA_ELEMENTWISE_KERNELS_H_

#include "diopi_cpu/math.h"
#include "diopi_cuda/elementwise.h"

namespace diopi::cuda::detail {

// The type of an operand, by its letter in the signature.
template <typename T, char kind>
struct KindOf {
    using type = T;
};
template <typename T>
struct KindOf<T, 't'> {
    using type = Bool;
};
template <typename T>
struct KindOf<T, 'r'> {
    using type = Real<T>;
};
template <typename T>
struct KindOf<T, 'p'> {
    using type = numeric::complex<T>;
};

// Calls `body.template at<k>()` for k in [0, n).
template <int n, int k = 0, typename Body>
DIOPI_DEVICE inline void unroll(Body& body) {
    if constexpr (k < n) {
        body.template at<k>();
        unroll<n, k + 1>(body);
    }
}

template <typename V>
DIOPI_DEVICE inline V rounded_to(Dtype half, V value) {
    if constexpr (std::is_same_v<V, float>) {
        if (half == Dtype::kFloat16) {
            return static_cast<float>(Half(value));
        }
        if (half == Dtype::kBfloat16) {
            return static_cast<float>(Bfloat16(value));
        }
    }
    return value;
}

// ---- The general way. ----

template <typename Loop, typename T>
struct GeneralKernel {
    ElementwiseJob job;

    struct Loads {
        const ElementwiseJob& job;
        Item& item;
        int64_t position;
        template <int k>
        DIOPI_DEVICE void at() {
            using V = typename KindOf<T, Loop::kSignature.kinds[k]>::type;
            V value;
            if (job.is_number[k]) {
                const Number& number = job.numbers[k];
                value = number.is_real ? cast<V>(number.real) : cast<V>(Int64(number.integer));
            } else {
                const Operand& operand = job.operands[k];
                value = load<V>(operand.at(job.dims, position), operand.dtype);
            }
            item.inputs[k].template as<V>() = rounded_to(job.rounded[k], value);
        }
    };

    struct Stores {
        const ElementwiseJob& job;
        Item& item;
        int64_t position;
        template <int k>
        DIOPI_DEVICE void at() {
            constexpr int kAt = Loop::kSignature.inputs + k;
            using V = typename KindOf<T, Loop::kSignature.kinds[kAt]>::type;
            if (!job.is_dropped[k]) {
                const Operand& operand = job.operands[kAt];
                const V value = rounded_to(job.rounded[kAt], item.outputs[k].template as<V>());
                store<V>(operand.at(job.dims, position), operand.dtype, value);
            }
        }
    };

    DIOPI_DEVICE void operator()(int64_t position) const {
        Item item(job, position);
        Loads loads{job, item, position};
        unroll<Loop::kSignature.inputs>(loads);
        Loop::template run<T>(item);
        Stores stores{job, item, position};
        unroll<Loop::kSignature.outputs>(stores);
    }
};

// ---- Vectors. ----

template <typename S, int n>
struct alignas(sizeof(S) * n) Pack {
    S elements[n];
};

// Elements in one vector, for a type that is stored in.
template <typename S>
constexpr int kWidth = sizeof(S) <= 4   ? 4
                       : sizeof(S) == 8 ? 2
                                        : 1;

// S is the type that operands of kind e and r are stored in: T, or a half where T is float.
template <typename Loop, typename T, typename S>
struct VectorKernel {
    ElementwiseJob job;
    int64_t count;

    static constexpr int kN = kWidth<S>;

    template <int k>
    struct Types {
        using V = typename KindOf<T, Loop::kSignature.kinds[k]>::type;
        using Stored = std::conditional_t<std::is_same_v<V, float>, std::conditional_t<is_half(dtype_of<S>), S, V>, V>;
    };

    struct Loads {
        const ElementwiseJob& job;
        Item* items;
        int64_t first;
        int used;
        template <int k>
        DIOPI_DEVICE void at() {
            using V = typename Types<k>::V;
            using Stored = typename Types<k>::Stored;
            const auto* data = reinterpret_cast<const Stored*>(job.operands[k].data);
            if (job.is_number[k] || job.is_single[k]) {
                const Number& number = job.numbers[k];
                const V value = !job.is_number[k] ? cast<V>(*data)
                                : number.is_real  ? cast<V>(number.real)
                                                  : cast<V>(Int64(number.integer));
                for (int i = 0; i < kN; ++i) {
                    items[i].inputs[k].template as<V>() = rounded_to(job.rounded[k], value);
                }
            } else if (used == kN) {
                const auto pack = *reinterpret_cast<const Pack<Stored, kN>*>(data + first);
                for (int i = 0; i < kN; ++i) {
                    items[i].inputs[k].template as<V>() = cast<V>(pack.elements[i]);
                }
            } else {
                for (int i = 0; i < used; ++i) {
                    items[i].inputs[k].template as<V>() = cast<V>(data[first + i]);
                }
            }
        }
    };

    struct Stores {
        const ElementwiseJob& job;
        Item* items;
        int64_t first;
        int used;
        template <int k>
        DIOPI_DEVICE void at() {
            constexpr int kAt = Loop::kSignature.inputs + k;
            using V = typename Types<kAt>::V;
            using Stored = typename Types<kAt>::Stored;
            if (job.is_dropped[k]) {
                return;
            }
            auto* data = reinterpret_cast<Stored*>(job.operands[kAt].data);
            if (used == kN) {
                Pack<Stored, kN> pack;
                for (int i = 0; i < kN; ++i) {
                    pack.elements[i] = cast<Stored>(items[i].outputs[k].template as<V>());
                }
                *reinterpret_cast<Pack<Stored, kN>*>(data + first) = pack;
            } else {
                for (int i = 0; i < used; ++i) {
                    data[first + i] = cast<Stored>(items[i].outputs[k].template as<V>());
                }
            }
        }
    };

    // One Item for each element of the vector: they have no default constructor.
    template <int... i>
    DIOPI_DEVICE void vector(int64_t first, int used, std::integer_sequence<int, i...>) const {
        Item items[] = {Item(job, first + i)...};
        Loads loads{job, items, first, used};
        unroll<Loop::kSignature.inputs>(loads);
        for (int at = 0; at < kN; ++at) {
            if (at < used) {
                Loop::template run<T>(items[at]);
            }
        }
        Stores stores{job, items, first, used};
        unroll<Loop::kSignature.outputs>(stores);
    }

    DIOPI_DEVICE void operator()(int64_t part) const {
        const int64_t left = count - part * kN;
        vector(part * kN, left < kN ? static_cast<int>(left) : kN, std::make_integer_sequence<int, kN>());
    }
};

template <typename Loop, typename T>
void launch_general(const ElementwiseJob& job, int64_t count) {
    for_each(count, GeneralKernel<Loop, T>{job});
}

template <typename Loop, typename T, typename S>
void launch_vectors(const ElementwiseJob& job, int64_t count) {
    constexpr int kN = VectorKernel<Loop, T, S>::kN;
    for_each((count + kN - 1) / kN, VectorKernel<Loop, T, S>{job, count});
}

}  // namespace diopi::cuda::detail

namespace diopi::cuda {

// The kernels of `Loop` for the dtypes of `set`.
template <typename Loop, DtypeSet set>
constexpr Launches launches() {
    Launches table{};
    const auto add = [&table](auto sample) {
        using T = decltype(sample);
        if constexpr (contains(set, dtype_of<T>)) {
            table.general[static_cast<int>(dtype_of<T>)] = &detail::launch_general<Loop, T>;
            table.vectors[static_cast<int>(dtype_of<T>)] = &detail::launch_vectors<Loop, T, T>;
        }
        if constexpr (contains(set, dtype_of<T>) && std::is_same_v<T, float>) {
            table.halves[0] = &detail::launch_vectors<Loop, float, Half>;
            table.halves[1] = &detail::launch_vectors<Loop, float, Bfloat16>;
        }
    };
    add(Bool{});
    add(Uint8{});
    add(Int8{});
    add(Int16{});
    add(Int32{});
    add(Int64{});
    add(float{});
    add(double{});
    add(Complex64{});
    add(Complex128{});
    return table;
}

}  // namespace diopi::cuda

#endif  // DIOPI_CUDA_ELEMENTWISE_KERNELS_H_
