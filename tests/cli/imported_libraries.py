"""Small headers of invented libraries, each with constructs of C that DIOPI's own headers lack."""

from __future__ import annotations

PLANS = """\
#include <stdio.h>
#include <stddef.h>
#define PLAN_MEASURE (0U)
typedef enum { PLAN_FORWARD = -1, PLAN_BACKWARD = +1, PLAN_INVERSE = +1 } plan_sign;
enum plan_state { PLAN_EMPTY, PLAN_READY };
enum { PLAN_UNNAMED = 12 };
typedef double plan_complex[2];
typedef struct plan_s *plan_t;
typedef struct plan_node { struct plan_node *next; plan_t plan; enum plan_state state; float sizes[2][3]; } plan_node;
typedef union { float real; int whole; } plan_value;
struct plan_nested { int kind; struct { float low; float high; } range; };
typedef struct plan_outer { char tag; struct plan_nested inner; } plan_outer;
#pragma pack(push, 1)
typedef struct { char tag; int size; } plan_packed;
#pragma pack(pop)
typedef void (*plan_visitor)(const plan_node *node, void *data);
typedef int plan_filter(const plan_node *node);
/** Executes; see diopiNowhere. */
void plan_execute(const plan_t p);
plan_t plan_create(int rank, const int *n, plan_complex *in, plan_complex *out, plan_sign sign, unsigned flags);
double plan_cost(const struct plan_s *p, enum plan_state);
long double plan_flops(plan_t p, long double *add);
plan_value plan_best(plan_outer *outer, const plan_packed *packed, struct plan_cache *cache);
const char *plan_name(plan_t p);
/** Visits. See diopiVisitAll and plan_walk, which do not exist. \\@{ ' # %} : */
void plan_visit(plan_node *first, plan_visitor visit, plan_filter *filter,
                void (*done)(void *data, int code), void *data);
void plan_print(plan_t p, FILE *file);
void (*plan_handler(int code))(int code);
void plan_log(const char *format, ...);
int planner_version(void);
"""
"""A library without a status. `plan_handler`, `plan_log` and `planner_version` cannot be imported."""

STATUS = """\
#include "nn-types.h"
#ifdef __cplusplus
extern "C" {
#endif
/** Makes a handle.
 * @param[out] handle What is made. */
nnStatus_t nnCreate(nnHandle_t *handle);
nnStatus_t nnDestroy(nnHandle_t handle);
/** Like nnCreateAll. */
nnStatus_t nnScale(nnHandle_t handle, const nnTensorDesc_t desc, void *y, const void *alpha, nnStream_t stream);
const char *nnGetErrorString(nnStatus_t status);
size_t nnGetVersion(void);
#ifdef __cplusplus
}
#endif
"""
STATUS_TYPES = """\
#pragma once
#include <stddef.h>
typedef enum { NN_STATUS_SUCCESS = 0, NN_STATUS_BAD_PARAM = 3 } nnStatus_t;
typedef struct nnContext *nnHandle_t;
typedef struct nnTensorStruct *nnTensorDesc_t;
typedef struct CUstream_st *nnStream_t;
typedef struct { int unused; } nnUnused_t;
nnStatus_t nnElsewhere(void);
"""
"""A library whose functions return a status, and whose types are in a header that it includes."""

TABLE = """\
#include <stddef.h>
typedef struct RT_Error RT_Error;
typedef struct RT_Args { size_t struct_size; int code; } RT_Args;
typedef RT_Error *RT_Client_Create(RT_Args *args);
typedef void (*RT_Error_Destroy_Fn)(RT_Error *error);
typedef struct RT_Api {
    size_t struct_size;
    RT_Client_Create *RT_Client_Create;
    RT_Error_Destroy_Fn RT_Error_Destroy;
    void (*(*RT_Find)(const char *name))(void);
    int (*RT_Register)(const char *name, void (*done)(void *, int));
} RT_Api;
"""
"""A library that is a struct of pointers to functions."""

REFERENCE = """\
struct Box { int value; };
int boxGet(const Box &box);
void boxSet(Box &box, int value);
"""

C_ALONE = """\
struct item { int class; };
void item_copy(const float *restrict from, float *restrict new, struct item *item);
"""
"""Text that a C++ compiler rejects: `restrict`, and keywords of C++ as names."""

DIOPI = """\
#include <stdint.h>
typedef struct diopiContext* diopiContextHandle_t;
typedef struct diopiTensor* diopiTensorHandle_t;
typedef const struct diopiTensor* diopiConstTensorHandle_t;
typedef enum { diopiSuccess = 0, diopiErrorOccurred = 1 } diopiError_t;
diopiError_t diopiRelu(diopiContextHandle_t ctx, diopiTensorHandle_t out, diopiConstTensorHandle_t input);
/** Masks. */
diopiError_t diopiMask(diopiContextHandle_t ctx, diopiTensorHandle_t out, const uint16_t* mask);
int diopiCount(const int64_t* number);
int helper(void);
"""
"""Functions of DIOPI with types that its grammar has no word for."""
