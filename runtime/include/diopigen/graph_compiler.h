/* What a device may offer for graphs that a framework compiles: to run a planned graph as a whole.
 *
 * A vendor that registers nothing here runs graphs step by step. With it, each graph that consists of functions of the
 * interface and of compiled kernels is handed over as a document (docs/compile.md, "The plan"). The table is copied;
 * its functions stay valid until finalizeLibrary() has returned, and may be called from several threads at once. Every
 * function returns 0 on success; what a failure is about, get_last_error_string_func_t of diopigen/device.h tells.
 *
 * Valid in C11 and C++11 and later. */
#ifndef DIOPIGEN_GRAPH_COMPILER_H_
#define DIOPIGEN_GRAPH_COMPILER_H_

#include <diopi/diopirt.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The device memory of a slot in one run: its first element, and the bytes up to its last one. */
typedef struct diopigenGraphSlot_t {
    void* data;
    uint64_t bytes;
} diopigenGraphSlot_t;

/* Runs a step of the document on the stream as the host does without a graph compiler: by the vendor's function, or the
 * kernel. For steps that the vendor has not compiled itself. */
typedef int32_t (*diopigenGraphStep_t)(void* state, uint64_t step);

typedef struct diopigenGraphCompiler_t {
    /* sizeof(diopigenGraphCompiler_t) of the vendor's header. */
    uint64_t size;

    /* Takes a document. A failure leaves the graph to the host, which says why once and runs it step by step. */
    int32_t (*compile)(const char* document, void** graph);

    /* Queues a run of the graph on a stream. `slots` are those of the document, in its order; they stay allocated until
     * what was queued is done. `step` may be called from this thread until run() returns; where it gives another value
     * than 0, run() queues no more and returns that value. */
    int32_t (*run)(void* graph, diopiStreamHandle_t stream, const diopigenGraphSlot_t* slots, uint64_t slot_count,
                   diopigenGraphStep_t step, void* state);

    /* Gives back what compile() made. The runtime has synchronised all streams before. */
    int32_t (*unload)(void* graph);
} diopigenGraphCompiler_t;

/* Meant for the body of initLibrary(). 0 on success; a null table, one of another size, or one with a null function is
 * refused. */
int32_t diopigenRegisterGraphCompiler(const diopigenGraphCompiler_t* compiler);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIOPIGEN_GRAPH_COMPILER_H_ */
