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
extern std::atomic<int> capturesUnderway;

bool isStreamCapturing(diopiStreamHandle_t stream);
inline bool isCapturing(diopiStreamHandle_t stream) {
    return C10_UNLIKELY(capturesUnderway.load(std::memory_order_relaxed) != 0) && isStreamCapturing(stream);
}
/// Of the calling thread's stream on a device.
bool isCapturing(c10::DeviceIndex device);

[[noreturn]] void rejectInCapture(const std::string& what);
/// The text of the calling thread's last rejection, once; empty for none. Libraries replace it by a text of theirs.
std::string takeRejection();
/// Throws where the stream is being captured: "a graph cannot capture", and `what`.
inline void requireNoCapture(diopiStreamHandle_t stream, const char* what) {
    if (C10_UNLIKELY(isCapturing(stream))) {
        rejectInCapture(what);
    }
}

/// The pool of the capture that records the stream; nothing where none does.
std::optional<c10::MempoolId_t> poolOfCapture(c10::Stream stream);
/// A pool that no graph has.
c10::MempoolId_t newPool();
/// Lets the graph of the capture that records the stream own what its launches use besides memory of its pool.
void ownInCapture(diopiStreamHandle_t stream, std::shared_ptr<const void> object);
void ownInCapture(diopiStreamHandle_t stream, const at::Tensor& tensor);

/// diopigenGetCapturedSeed.
const uint64_t* capturedSeed(c10::GeneratorImpl* generator);
enum class Use { read, write };
/// Numbers by which a generator has advanced in the capture that records the calling thread's stream; null outside
/// captures. Throws unless a random kernel has asked for capturedSeed() before it reads.
uint64_t* offsetInCapture(const c10::GeneratorImpl* generator, Use use);
/// Throws where the calling thread's stream is being captured: launches of the graph advance the generator.
void requireUncaptured(const c10::GeneratorImpl* generator);

/// Lets `torch.accelerator.Graph` capture on this device, whose name PyTorch knows by now.
void registerGraphs();

}  // namespace diopigen::backend

#endif  // DIOPIGEN_TORCH_CAPTURE_H_
