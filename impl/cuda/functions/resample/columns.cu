// Im2Col and Col2Im: a thread for each element of what is written.
#include "diopi_core/dense.h"
#include "diopi_cuda/launch.h"
#include "diopi_cuda/windows_of.h"
#include "resample/resample_kernels.h"

namespace diopigen::cuda {

namespace {

// Columns are [images * channels, taps, positions].
template <typename T>
void unfold(const WindowsOf& windows, T* columns, const T* images, int64_t planes) {
    for_each(planes * windows.taps() * windows.position_count(), [=] DIOPI_KERNEL(int64_t at) {
        const int64_t position = at % windows.position_count();
        const int64_t tap = at / windows.position_count() % windows.taps();
        const int64_t plane = at / windows.position_count() / windows.taps();
        const int64_t seen = windows.seen(position, tap);
        columns[at] = seen >= 0 ? images[plane * windows.image() + seen] : T(0);
    });
}

template <typename T>
void fold(const WindowsOf& windows, T* images, const T* columns, int64_t planes) {
    for_each(planes * windows.image(), [=] DIOPI_KERNEL(int64_t at) {
        const int64_t element = at % windows.image();
        const int64_t plane = at / windows.image();
        T sum(0);
        for (int64_t tap = 0; tap < windows.taps(); ++tap) {
            const int64_t position = windows.position_of(element, tap);
            if (position >= 0) {
                sum = sum + columns[(plane * windows.taps() + tap) * windows.position_count() + position];
            }
        }
        images[at] = sum;
    });
}

}  // namespace

}  // namespace diopigen::cuda

namespace diopigen::core {

void unfold_images(const Tensor& out_tensor, const Tensor& input_tensor, const Sliding& sliding, int64_t channels) {
    const int64_t images = input_tensor.rank == 4 ? input_tensor.shape[0] : 1;
    dispatch<kFloating | kComplex | kBool>(input_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Output<T> y(out_tensor);
        cuda::unfold<T>(cuda::WindowsOf(sliding), y.data(), x.data(), images * channels);
        y.store();
    });
}

void fold_images(const Tensor& out_tensor, const Tensor& input_tensor, const Sliding& sliding, int64_t channels,
                 int64_t /*elements*/) {
    const int64_t images = input_tensor.rank == 3 ? input_tensor.shape[0] : 1;
    dispatch_compute<kFloating | kComplex>(input_tensor.dtype, [&](auto sample) {
        using T = decltype(sample);
        const Input<T> x(input_tensor);
        const Output<T> y(out_tensor);
        cuda::fold<T>(cuda::WindowsOf(sliding), y.data(), x.data(), images * channels);
        y.store();
    });
}

}  // namespace diopigen::core
