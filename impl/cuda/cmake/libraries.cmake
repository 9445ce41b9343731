# NVIDIA's libraries beside the toolkit's core, each optional: without one, own kernels do its work. They are looked for
# in the toolkit, on the machine, and among the wheels of the project's environment (`pip install diopigen[cuda]`).
set(library_sources)
set(library_includes)
set(libraries)
option(DIOPIGEN_CUB "Sort and add up whole numbers by CUB, which comes with the toolkit" ON)
option(DIOPIGEN_CUBLAS "Take matrix products from cuBLASLt where it is found" ON)

if(DIOPIGEN_CUDA_EMULATION)
    # The host cannot run them. Calls of cuBLASLt come to a stand-in (emulation/src/cublas_lt.cpp).
    set(DIOPIGEN_CUB OFF)
    set(DIOPIGEN_CUBLAS OFF)
endif()

if(DIOPIGEN_CUB)
    list(APPEND library_sources "${CMAKE_CURRENT_SOURCE_DIR}/libraries/cub.cu")
else()
    message(STATUS "diopi_cuda: no CUB, sorting by own kernels")
    list(APPEND library_sources "${CMAKE_CURRENT_SOURCE_DIR}/libraries/no_cub.cu")
endif()

file(GLOB wheels "$ENV{VIRTUAL_ENV}/lib/python3*/site-packages/nvidia/*"
                 "${CMAKE_CURRENT_SOURCE_DIR}/../../.venv/lib/python3*/site-packages/nvidia/*")
if(DIOPIGEN_CUBLAS)
    find_path(DIOPIGEN_CUBLAS_INCLUDE cublasLt.h HINTS ${wheels} ENV CUDA_PATH PATHS /usr/local/cuda PATH_SUFFIXES include)
    find_library(DIOPIGEN_CUBLAS_LIBRARY NAMES cublasLt libcublasLt.so.13 HINTS ${wheels} ENV CUDA_PATH
                 PATHS /usr/local/cuda PATH_SUFFIXES lib lib64)
endif()
if(DIOPIGEN_CUBLAS AND DIOPIGEN_CUBLAS_INCLUDE AND DIOPIGEN_CUBLAS_LIBRARY)
    message(STATUS "diopi_cuda: matrix products by ${DIOPIGEN_CUBLAS_LIBRARY}")
    list(APPEND library_sources "${CMAKE_CURRENT_SOURCE_DIR}/libraries/blas.cpp")
    list(APPEND library_includes "${DIOPIGEN_CUBLAS_INCLUDE}")
    list(APPEND libraries "${DIOPIGEN_CUBLAS_LIBRARY}")
elseif(DIOPIGEN_CUDA_EMULATION)
    list(APPEND library_sources "${CMAKE_CURRENT_SOURCE_DIR}/libraries/blas.cpp")
else()
    message(STATUS "diopi_cuda: no cuBLASLt, matrix products by own kernels")
    list(APPEND library_sources "${CMAKE_CURRENT_SOURCE_DIR}/libraries/no_blas.cpp")
endif()
