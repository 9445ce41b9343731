// Average pooling as cuDNN describes it, window by window. Written from its documentation, as its convolutions are.
#include <cudnn.h>

#include <cstdint>
#include <vector>

#include "cudnn_calls.h"
#include "emulation/launch.h"

struct cudnnPoolingStruct {
    cudnnPoolingMode_t mode;
    int space;
    int64_t window[3];
    int64_t pad[3];
    int64_t stride[3];
};

namespace {

using namespace diopigen::cuda::emulation::dnn;

bool is_right(const cudnnPoolingStruct& windows, const Sizes& x, const Sizes& y) {
    bool right = x.type == y.type && x.rank == y.rank && windows.space == x.rank - 2 && x.of[0] == y.of[0] &&
                 x.of[1] == y.of[1] && windows.mode != CUDNN_POOLING_MAX &&
                 !(x.is_channels_last() && y.is_channels_first()) && !(x.is_channels_first() && y.is_channels_last());
    for (int k = 0; right && k < 3; ++k) {
        const int64_t room = x.of[2 + k] + 2 * windows.pad[k] - windows.window[k];
        right = room >= 0 && room / windows.stride[k] + 1 == y.of[2 + k];
    }
    return right;
}

// Calls `visit(element)` with the position of each element of the image that a window holds.
template <typename Visit>
void for_elements(const cudnnPoolingStruct& windows, const Sizes& x, const int64_t* window, const Visit& visit) {
    int64_t tap[3];
    for (tap[0] = 0; tap[0] < windows.window[0]; ++tap[0]) {
        for (tap[1] = 0; tap[1] < windows.window[1]; ++tap[1]) {
            for (tap[2] = 0; tap[2] < windows.window[2]; ++tap[2]) {
                int64_t seen[3];
                bool is_inside = true;
                for (int k = 0; k < 3; ++k) {
                    seen[k] = window[k] * windows.stride[k] - windows.pad[k] + tap[k];
                    is_inside = is_inside && seen[k] >= 0 && seen[k] < x.of[2 + k];
                }
                if (is_inside) {
                    visit(seen);
                }
            }
        }
    }
}

// Calls `visit(sample, channel, window)` for all windows.
template <typename Visit>
void for_windows(const Sizes& y, const Visit& visit) {
    int64_t window[3];
    for (int64_t n = 0; n < y.of[0]; ++n) {
        for (int64_t c = 0; c < y.of[1]; ++c) {
            for (window[0] = 0; window[0] < y.of[2]; ++window[0]) {
                for (window[1] = 0; window[1] < y.of[3]; ++window[1]) {
                    for (window[2] = 0; window[2] < y.of[4]; ++window[2]) {
                        visit(n, c, window);
                    }
                }
            }
        }
    }
}

// result = alpha means + beta result, or the same of the gradient. A is what is added up in.
template <typename S, typename A>
void pool(const cudnnPoolingStruct& windows, const Sizes& x_sizes, const Sizes& y_sizes, bool is_gradient,
          const S* from, S* to, A alpha, A beta) {
    const diopigen::cuda::emulation::Access access;
    const Sizes& sizes = is_gradient ? x_sizes : y_sizes;
    std::vector<A> sums(static_cast<size_t>(sizes.volume()), A(0));
    for_windows(y_sizes, [&](int64_t n, int64_t c, const int64_t* window) {
        int64_t count = 0;
        for_elements(windows, x_sizes, window, [&](const int64_t*) { ++count; });
        if (windows.mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING) {
            count = windows.window[0] * windows.window[1] * windows.window[2];
        }
        const int64_t of_y = y_sizes.at(n, c, window);
        for_elements(windows, x_sizes, window, [&](const int64_t* seen) {
            const int64_t of_x = x_sizes.at(n, c, seen);
            if (is_gradient) {
                sums[of_x] += static_cast<A>(from[of_y]) / static_cast<A>(count);
            } else {
                sums[of_y] += static_cast<A>(from[of_x]);
            }
        });
        if (!is_gradient) {
            sums[of_y] /= static_cast<A>(count);
        }
    });
    for (size_t i = 0; i < sums.size(); ++i) {
        const A own = beta == A(0) ? A(0) : beta * static_cast<A>(to[i]);
        to[i] = S(alpha * sums[i] + own);
    }
}

template <typename S, typename A>
void pool_as(const cudnnPoolingStruct& windows, const Sizes& x, const Sizes& y, bool is_gradient, const void* from,
             void* to, const void* alpha, const void* beta) {
    const A factor = *static_cast<const A*>(alpha);
    const A rest = *static_cast<const A*>(beta);
    const auto* const read = static_cast<const S*>(from);
    auto* const written = static_cast<S*>(to);
    diopigen::cuda::emulation::submit(stream_of_calls,
                                      [=] { pool<S, A>(windows, x, y, is_gradient, read, written, factor, rest); });
}

cudnnStatus_t run(const cudnnPoolingStruct& windows, const Sizes& x, const Sizes& y, bool is_gradient, const void* from,
                  void* to, const void* alpha, const void* beta) {
    if (!is_mode(nullptr)) {
        return CUDNN_STATUS_NOT_SUPPORTED;
    }
    if (is_mode("refuse") || !is_right(windows, x, y) || from == nullptr || to == nullptr) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    note(x.is_channels_last() ? "pooling, channels last" : "pooling, channels first");
    with_types(x.type, [&](auto stored, auto sum) {
        pool_as<decltype(stored), decltype(sum)>(windows, x, y, is_gradient, from, to, alpha, beta);
    });
    return CUDNN_STATUS_SUCCESS;
}

}  // namespace

cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* description) { return create(description); }
cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t description) { return destroy(description); }
cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t description, cudnnPoolingMode_t mode,
                                          cudnnNanPropagation_t /*nan*/, int space, const int* window, const int* pad,
                                          const int* stride) {
    if (space < 2 || space > 3) {
        return CUDNN_STATUS_BAD_PARAM;
    }
    for (int k = 0; k < space; ++k) {
        if (window[k] <= 0 || stride[k] <= 0 || pad[k] < 0) {
            return CUDNN_STATUS_BAD_PARAM;
        }
    }
    description->mode = mode;
    description->space = space;
    set_space(description->window, window, space, 1);
    set_space(description->pad, pad, space, 0);
    set_space(description->stride, stride, space, 1);
    return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnPoolingForward(cudnnHandle_t /*handle*/, cudnnPoolingDescriptor_t windows, const void* alpha,
                                  cudnnTensorDescriptor_t x_description, const void* x, const void* beta,
                                  cudnnTensorDescriptor_t y_description, void* y) {
    return run(*windows, *x_description, *y_description, false, x, y, alpha, beta);
}

cudnnStatus_t cudnnPoolingBackward(cudnnHandle_t /*handle*/, cudnnPoolingDescriptor_t windows, const void* alpha,
                                   cudnnTensorDescriptor_t y_description, const void* y,
                                   cudnnTensorDescriptor_t dy_description, const void* dy,
                                   cudnnTensorDescriptor_t x_description, const void* x, const void* beta,
                                   cudnnTensorDescriptor_t dx_description, void* dx) {
    const bool are_images =
        y_description == dy_description && x_description == dx_description && y != nullptr && x != nullptr;
    return are_images ? run(*windows, *dx_description, *dy_description, true, dy, dx, alpha, beta)
                      : CUDNN_STATUS_BAD_PARAM;
}
