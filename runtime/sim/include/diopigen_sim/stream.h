// Streams: in-order queues, each with a worker thread of its own, asynchronous to the host. Events order streams.
#ifndef DIOPIGEN_SIM_STREAM_H_
#define DIOPIGEN_SIM_STREAM_H_

#include <diopigen_sim/status.h>

#include <cstdint>

namespace diopigen::sim {

/// As diopiStreamHandle_t. Null is the default stream of the thread's current device.
using StreamHandle = void*;

Status createStream(int device, StreamHandle* stream);
/// Waits for the work of the stream and ends it. The default stream is refused.
Status destroyStream(StreamHandle stream);
/// Waits for all work of the stream; the first failure of it comes out here, once.
Status synchronize(StreamHandle stream);
/// The number of a stream in messages and traces, from 0 in the order in which streams were made.
Status streamNumber(StreamHandle stream, int* number);

/// Copies on a stream. Device ranges are checked at once. The host's memory has to stay as it is until the stream has
/// been synchronised: it is read and written when the copy's turn comes.
Status copyToDevice(StreamHandle stream, void* device, const void* host, uint64_t bytes);
Status copyToHost(StreamHandle stream, void* host, const void* device, uint64_t bytes);
/// Both on the device of the stream; the ranges may overlap.
Status copyOnDevice(StreamHandle stream, void* destination, const void* source, uint64_t bytes);

/// A point in the work of a stream. Null is no event.
using EventHandle = struct Event*;

Status createEvent(EventHandle* event);
/// Waits and elapsed times that have been asked for are not disturbed.
Status destroyEvent(EventHandle event);
/// Moves the event to behind what is on the stream now.
Status recordEvent(EventHandle event, StreamHandle stream);
/// Later work of `stream` starts after the event; at once where it was never recorded.
Status waitEvent(StreamHandle stream, EventHandle event);
Status synchronizeEvent(EventHandle event);
/// Whether the work in front of the event is done.
Status queryEvent(EventHandle event, bool* done);
/// Milliseconds of device time from one event to another; both must be done.
Status elapsedTime(EventHandle start, EventHandle end, double* milliseconds);

}  // namespace diopigen::sim

#endif  // DIOPIGEN_SIM_STREAM_H_
