/* What a device may offer for graphs that a framework compiles: kernels from source, at run time.
 *
 * A vendor that registers nothing here runs such graphs by the functions of its library alone. With it, chains of
 * operators become one kernel each (docs/compile.md). The table is copied; its functions stay valid until
 * finalizeLibrary() has returned, and may be called from several threads at once. Every function returns 0 on success;
 * what a failure is about, get_last_error_string_func_t of diopigen/device.h tells.
 *
 * Valid in C11 and C++11 and later. */
#ifndef DIOPIGEN_KERNEL_COMPILER_H_
#define DIOPIGEN_KERNEL_COMPILER_H_

#include <diopi/diopirt.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Device memory that a kernel uses: the address of its first element and the bytes up to its last one. */
typedef struct diopigenKernelBuffer_t {
    void* data;
    uint64_t bytes;
    bool written;
} diopigenKernelBuffer_t;

typedef struct diopigenKernelCompiler_t {
    /* sizeof(diopigenKernelCompiler_t) of the vendor's header. */
    uint64_t size;

    /* Compiles a source in C++17 that includes <cmath>, <cstdint>, <limits>, <string_view> and <type_traits> alone, and
     * defines
     *
     *     extern "C" void NAME(void* const* buffers, const int64_t* numbers, int64_t first, int64_t last);
     *
     * which computes the items from `first` to `last`. Ranges may run in any order, and at once. */
    int32_t (*compile)(const char* source, const char* name, void** kernel);

    /* Queues all items of [0, items) on a stream; ranges of `grain` items are worth a thread of their own. Buffers and
     * numbers are copied. */
    int32_t (*launch)(void* kernel, diopiStreamHandle_t stream, const diopigenKernelBuffer_t* buffers,
                      uint64_t buffer_count, const int64_t* numbers, uint64_t number_count, int64_t items,
                      int64_t grain);

    /* Gives back what compile() made. The runtime has synchronised all streams before. */
    int32_t (*unload)(void* kernel);
} diopigenKernelCompiler_t;

/* Meant for the body of initLibrary(). 0 on success; a null table, one of another size, or one with a null function is
 * refused. */
int32_t diopigenRegisterKernelCompiler(const diopigenKernelCompiler_t* compiler);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* DIOPIGEN_KERNEL_COMPILER_H_ */
