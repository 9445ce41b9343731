/* What a framework's backend asks of a device beyond diopigen/device.h: several devices, and events.
 *
 * A vendor that registers nothing here has one device, and its events wait on the host. The table is copied; its
 * functions stay valid until finalizeLibrary() has returned. Every function returns 0 on success. The functions may be
 * called from several threads at once.
 *
 * Valid in C11 and C++11 and later. */
#ifndef DIOPIGEN_ACCELERATOR_H_
#define DIOPIGEN_ACCELERATOR_H_

#include <diopi/diopirt.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void* diopigenEvent_t;

typedef struct diopigenAccelerator_t {
    /* sizeof(diopigenAccelerator_t) of the vendor's header. */
    uint64_t size;

    int32_t (*device_count)(int32_t* count);
    /* The device of the calling thread, on which device.h allocates and makes streams; 0 at first. */
    int32_t (*set_device)(int32_t device);

    /* Events. One is made on the device of the calling thread and recorded on streams of that device; streams of any
     * device wait for it. Recording moves an event to behind what is on the stream now; waits that were asked for
     * before keep the earlier place. An event that was never recorded is done. */
    int32_t (*create_event)(diopigenEvent_t* event);
    int32_t (*destroy_event)(diopigenEvent_t event);
    int32_t (*record_event)(diopigenEvent_t event, diopiStreamHandle_t stream);
    /* Later work of the stream starts after the event; returns at once. */
    int32_t (*wait_event)(diopiStreamHandle_t stream, diopigenEvent_t event);
    int32_t (*synchronize_event)(diopigenEvent_t event);
    int32_t (*query_event)(diopigenEvent_t event, bool* done);
    /* Milliseconds of device time between two events that are done. */
    int32_t (*elapsed_time)(diopigenEvent_t start, diopigenEvent_t end, double* milliseconds);

    /* Bytes of a device that are free, and all of them. */
    int32_t (*memory_info)(int32_t device, uint64_t* free, uint64_t* total);
} diopigenAccelerator_t;

/* Meant for the body of initLibrary(). 0 on success; a null table, one of another size, or one with a null function is
 * refused. */
int32_t diopigenRegisterAccelerator(const diopigenAccelerator_t* accelerator);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIOPIGEN_ACCELERATOR_H_ */
