/* The simulated device behind the signatures of diopigen/device.h: one definition for both forms of a host.
 *
 * diopigenRegisterSimulatedDevice registers them with a host that takes registrations. A host that looks its device
 * functions up by name gets them from runtime/sim/src/link_time.cpp (target diopi_sim_link_time). A vendor's own
 * device_... functions call these. Valid in C11 and C++11 and later. */
#ifndef DIOPIGEN_SIM_DEVICE_FUNCTIONS_H_
#define DIOPIGEN_SIM_DEVICE_FUNCTIONS_H_

#include <diopi/diopirt.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* On the current device of the calling thread. */
void* diopigenSimMalloc(uint64_t bytes);
void diopigenSimFree(void* pointer);
int32_t diopigenSimCreateStream(diopiStreamHandle_t* stream);
int32_t diopigenSimDestroyStream(diopiStreamHandle_t stream);
int32_t diopigenSimSynchronizeStream(diopiStreamHandle_t stream);
int32_t diopigenSimMemcpyH2DAsync(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes);
int32_t diopigenSimMemcpyD2HAsync(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes);
int32_t diopigenSimMemcpyD2DAsync(diopiStreamHandle_t stream, void* dst, const void* src, uint64_t bytes);
/* The text of the latest failure of the functions above on the calling thread. */
const char* diopigenSimGetLastErrorString(void);
/* Makes `text` that text; null is "". For what a vendor refuses itself. */
void diopigenSimSetLastErrorString(const char* text);

/* Registers all nine; meant for the body of a vendor's initLibrary(). 0 on success, also where the host takes no
 * registrations. */
int32_t diopigenRegisterSimulatedDevice(void);
/* How often the queues of the process were given work: a launch, a copy, or a graph (diopigen/graph_compiler.h). */
uint64_t diopigenSimSubmissions(void);
/* Meant for the body of finalizeLibrary(): finish() of device.h. 0 when all memory was given back. */
int32_t diopigenFinishSimulatedDevice(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIOPIGEN_SIM_DEVICE_FUNCTIONS_H_ */
