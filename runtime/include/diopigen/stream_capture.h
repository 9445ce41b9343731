/* Capture of streams, which a device may offer to a framework: work is recorded once and launched many times.
 *
 * Without it graphs cannot be captured, and the framework reports that in one sentence. The table is copied; its
 * functions stay valid until finalizeLibrary() has returned, and may be called from several threads at once. Every
 * function returns 0 on success; get_last_error_string_func_t of diopigen/device.h describes a failure.
 *
 * Valid in C11 and C++11 and later. */
#ifndef DIOPIGEN_STREAM_CAPTURE_H_
#define DIOPIGEN_STREAM_CAPTURE_H_

#include <diopi/diopirt.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct diopigenStreamCapture_t {
    /* sizeof(diopigenStreamCapture_t) of the vendor's header. */
    uint64_t size;

    /* From here on kernels, copies and events of the stream are recorded and do not run, whichever thread queues them.
     * Another stream of the device joins the capture when it waits for an event that was recorded in it. Waiting on the
     * host for a stream or an event of a capture fails. */
    int32_t (*begin)(diopiStreamHandle_t stream);
    /* A number for the capture that records the stream, which no other capture of the process has; 0 for none. */
    int32_t (*capture_of)(diopiStreamHandle_t stream, uint64_t* capture);
    /* Ends the capture that began on the stream, also where it fails: then there is no graph. It fails if a stream has
     * joined the capture and the stream does not wait for the end of its work. */
    int32_t (*end)(diopiStreamHandle_t stream, void** graph);
    /* Queues the recorded work on a stream of its device; it uses the memory that it was recorded with. */
    int32_t (*launch)(void* graph, diopiStreamHandle_t stream);
    /* Launches that are queued or running finish. */
    int32_t (*destroy)(void* graph);
} diopigenStreamCapture_t;

/* Meant for the body of initLibrary(). 0 on success; a null table, one of another size, or one with a null function is
 * refused. */
int32_t diopigenRegisterStreamCapture(const diopigenStreamCapture_t* capture);

/* Device memory of two numbers, the seed and an offset, which each launch of the graph sets; null where the calling
 * thread's stream is not being captured. A random kernel of a capture reads both, and adds the offset of
 * diopiGeneratorGetSeedAndOffset to the second. In a capture diopiGeneratorGetSeedAndOffset fails unless this was
 * called before: numbers that are arguments of a kernel would be the same in each launch. */
int32_t diopigenGetCapturedSeed(diopiGeneratorHandle_t generator, const uint64_t** seed_and_offset);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIOPIGEN_STREAM_CAPTURE_H_ */
