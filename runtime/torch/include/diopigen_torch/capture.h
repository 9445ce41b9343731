// Graphs of captured streams (diopigen/stream_capture.h): what may happen while a stream is being captured.
#ifndef DIOPIGEN_TORCH_CAPTURE_H_
#define DIOPIGEN_TORCH_CAPTURE_H_

#include <ATen/core/Tensor.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/GeneratorImpl.h>
#include <c10/macros/Macros.h>
#include <diopi/diopirt.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace diopigen::backend {

/// Captures of the process that have begun and not ended: without one no stream is asked.
extern std::atomic<int> captures_underway;

bool is_stream_capturing(diopiStreamHandle_t stream);
inline bool is_capturing(diopiStreamHandle_t stream) {
    return C10_UNLIKELY(captures_underway.load(std::memory_order_relaxed) != 0) && is_stream_capturing(stream);
}
/// Of the calling thread's stream on a device.
bool is_capturing(c10::DeviceIndex device);

[[noreturn]] void reject_in_capture(const std::string& what);
/// The text of the calling thread's last rejection, once; empty for none. Libraries replace it by a text of theirs.
std::string take_rejection();
/// Throws where the stream is being captured: "a graph cannot capture", and `what`.
inline void require_no_capture(diopiStreamHandle_t stream, const char* what) {
    if (C10_UNLIKELY(is_capturing(stream))) {
        reject_in_capture(what);
    }
}

/// The pool of the capture that records the stream; nothing where none does.
std::optional<c10::MempoolId_t> pool_of_capture(c10::Stream stream);
/// A pool that no graph has.
c10::MempoolId_t new_pool();
/// Lets the graph of the capture that records the stream own what its launches use besides memory of its pool.
void own_in_capture(diopiStreamHandle_t stream, std::shared_ptr<const void> object);
void own_in_capture(diopiStreamHandle_t stream, const at::Tensor& tensor);

/// diopigenGetCapturedSeed.
const uint64_t* captured_seed(c10::GeneratorImpl* generator);
enum class Use { kRead, kWrite };
/// Numbers by which a generator has advanced in the capture that records the calling thread's stream; null outside
/// captures. Throws unless a random kernel has asked for captured_seed() before it reads.
uint64_t* offset_in_capture(const c10::GeneratorImpl* generator, Use use);
/// Throws where the calling thread's stream is being captured: launches of the graph advance the generator.
void require_uncaptured(const c10::GeneratorImpl* generator);

/// Lets `torch.accelerator.Graph` capture on this device, whose name PyTorch knows by now.
void register_graphs();

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_CAPTURE_H_
