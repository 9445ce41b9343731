/* What a device offers to the host runtime: memory, copies and streams, as functions that a vendor registers.
 *
 * A vendor's library calls the diopiRegister... functions from its own initLibrary(). The host runtime copies the
 * pointers, so they must stay valid until finalizeLibrary() has returned. Registering again replaces the earlier
 * function; a null pointer is refused and leaves the earlier one in place.
 *
 * Every registered function that returns int32_t returns 0 on success; any other value is the vendor's own code, which
 * the runtime quotes in its error text. The functions may be called from several threads at once, but never for the
 * same stream from two threads at once.
 *
 * Valid in C11 and C++11 and later. */
#ifndef DIOPIGEN_DEVICE_H_
#define DIOPIGEN_DEVICE_H_

#include <diopi/diopirt.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Makes an in-order queue of work. A null stream handle is a valid stream. */
typedef int32_t (*create_stream_func_t)(diopiStreamHandle_t* stream);

/* Ends a stream on which no work is pending. */
typedef int32_t (*destroy_stream_func_t)(diopiStreamHandle_t stream);

/* Device memory of `bytes` bytes, aligned for every dtype; null when there is not enough. The runtime never asks for
 * 0 bytes. */
typedef void* (*malloc_func_t)(uint64_t bytes);

/* Gives back what malloc_func_t returned. The runtime has synchronised the owning stream before. */
typedef void (*free_func_t)(void* pointer);

/* Queues a copy of `bytes` bytes on `stream`. The runtime keeps both ranges alive until it has synchronised. */
typedef int32_t (*memcpy_h2d_async_func_t)(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes);
typedef int32_t (*memcpy_d2h_async_func_t)(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes);
typedef int32_t (*memcpy_d2d_async_func_t)(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes);

/* Returns when all work queued on `stream` is done. */
typedef int32_t (*sync_stream_func_t)(diopiStreamHandle_t stream);

/* Text about the latest failure of the device on the calling thread. May be null; stays valid until the thread's next
 * call into the device. */
typedef const char* (*get_last_error_string_func_t)(void);

/* Each returns 0 on success and a non-zero value when `func` is null. */
int32_t diopiRegisterDeviceMallocFunc(malloc_func_t func);
int32_t diopiRegisterDevMemFreeFunc(free_func_t func);
int32_t diopiRegisterStreamCreateFunc(create_stream_func_t func);
int32_t diopiRegisterStreamDestroyFunc(destroy_stream_func_t func);
int32_t diopiRegisterSynchronizeStreamFunc(sync_stream_func_t func);
int32_t diopiRegisterMemcpyH2DAsyncFunc(memcpy_h2d_async_func_t func);
int32_t diopiRegisterMemcpyD2HAsyncFunc(memcpy_d2h_async_func_t func);
int32_t diopiRegisterMemcpyD2DAsyncFunc(memcpy_d2d_async_func_t func);
int32_t diopiRegisterGetLastErrorFunc(get_last_error_string_func_t func);

/* Defined by the vendor's library, not by the runtime: set up the device and register its functions; give everything
 * back. A host calls them once each, before its first context and after its last one. 0 on success. */
int32_t initLibrary(void);
int32_t finalizeLibrary(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIOPIGEN_DEVICE_H_ */
