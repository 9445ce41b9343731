// What the stand-ins for cuDNN have in common: descriptions of tensors, the stream of calls, and what the environment
// asks of them.
#ifndef DIOPI_CUDA_EMULATION_CUDNN_CALLS_H_
#define DIOPI_CUDA_EMULATION_CUDNN_CALLS_H_

#include <cudnn.h>
#include <diopigen/environment.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "diopi_core/half.h"

// Sizes as [batch, channels, depth, height, width], or [filters, channels of a group, ...].
struct Sizes {
    cudnnDataType_t type;
    int64_t of[5];
    int rank;
    int64_t strides[5];
    int64_t volume() const { return of[0] * of[1] * of[2] * of[3] * of[4]; }
    int64_t at(int64_t a, int64_t b, const int64_t* position) const {
        return a * strides[0] + b * strides[1] + position[0] * strides[2] + position[1] * strides[3] +
               position[2] * strides[4];
    }
    // Neither, where nothing lies otherwise.
    bool is_channels_last() const { return of[1] > 1 && strides[1] == 1 && of[2] * of[3] * of[4] > 1; }
    bool is_channels_first() const { return of[1] > 1 && strides[1] > 1; }
};
struct cudnnTensorStruct : Sizes {};

namespace diopigen::cuda::emulation::dnn {

// That of the one handle there is.
inline thread_local cudaStream_t stream_of_calls = nullptr;

// Whether DIOPI_CUDA_EMULATION_DNN is this, or anything.
inline bool is_mode(const char* name) {
    const std::string mode = diopigen::environment::checked("DIOPI_CUDA_EMULATION_DNN");
    return name == nullptr ? !mode.empty() : mode == name;
}

// A line for what was asked for, where the environment names a file.
inline void note(const char* text) {
    const char* const file = std::getenv("DIOPI_CUDA_EMULATION_NOTES");
    std::FILE* const notes = file == nullptr ? nullptr : std::fopen(file, "a");
    if (notes != nullptr) {
        std::fprintf(notes, "%s\n", text);
        std::fclose(notes);
    }
}

// The entries as the last of three dimensions.
inline void set_space(int64_t (&to)[3], const int* from, int space, int64_t missing) {
    for (int k = 0; k < 3; ++k) {
        to[k] = k < 3 - space ? missing : from[k - (3 - space)];
    }
}

// Calls `body(S{}, A{})` with the types of elements and of what they are added up in.
template <typename Body>
void with_types(cudnnDataType_t type, const Body& body) {
    switch (type) {
        case CUDNN_DATA_HALF:
            return body(core::Half{}, float{});
        case CUDNN_DATA_BFLOAT16:
            return body(core::Bfloat16{}, float{});
        case CUDNN_DATA_FLOAT:
            return body(float{}, float{});
        default:
            return body(double{}, double{});
    }
}

template <typename Object>
cudnnStatus_t create(Object** object) {
    *object = new Object{};
    return CUDNN_STATUS_SUCCESS;
}

template <typename Object>
cudnnStatus_t destroy(Object* object) {
    delete object;
    return CUDNN_STATUS_SUCCESS;
}

}  // namespace diopigen::cuda::emulation::dnn

#endif  // DIOPI_CUDA_EMULATION_CUDNN_CALLS_H_
