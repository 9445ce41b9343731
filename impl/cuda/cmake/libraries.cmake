# NVIDIA's libraries in addition to the toolkit's core, each optional: without one, own kernels do its work. They are looked for
# in the toolkit, on the machine, and among the wheels of the project's environment (`pip install diopigen[cuda]`).
include("${CMAKE_CURRENT_SOURCE_DIR}/../core/cmake/forget_removed.cmake")
foreach(path CUBLAS_INCLUDE CUBLAS_LIBRARY CUDNN_INCLUDE CUDNN_LIBRARY CUDNN_FRONTEND_INCLUDE)
    diopigen_forget_removed(DIOPIGEN_${path})
endforeach()
set(library_sources)
set(library_includes)
set(libraries)
option(DIOPIGEN_CUB "Sort and add up whole numbers by CUB, which comes with the toolkit" ON)
option(DIOPIGEN_CUBLAS "Take matrix products from cuBLASLt where it is found" ON)
option(DIOPIGEN_CUDNN "Take convolutions and pooling from cuDNN where it is found" ON)

if(DIOPIGEN_CUDA_EMULATION)
    # The host cannot run them. Calls of cuBLASLt and cuDNN come to stand-ins (emulation/src).
    set(DIOPIGEN_CUB OFF)
    set(DIOPIGEN_CUBLAS OFF)
    set(DIOPIGEN_CUDNN OFF)
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
    list(APPEND library_sources "${CMAKE_CURRENT_SOURCE_DIR}/libraries/blas.cpp" "${CMAKE_CURRENT_SOURCE_DIR}/libraries/blas_plans.cpp")
    list(APPEND library_includes "${DIOPIGEN_CUBLAS_INCLUDE}")
    list(APPEND libraries "${DIOPIGEN_CUBLAS_LIBRARY}")
elseif(DIOPIGEN_CUDA_EMULATION)
    list(APPEND library_sources "${CMAKE_CURRENT_SOURCE_DIR}/libraries/blas.cpp" "${CMAKE_CURRENT_SOURCE_DIR}/libraries/blas_plans.cpp")
else()
    message(STATUS "diopi_cuda: no cuBLASLt, matrix products by own kernels")
    list(APPEND library_sources "${CMAKE_CURRENT_SOURCE_DIR}/libraries/no_blas.cpp")
endif()

if(DIOPIGEN_CUDNN)
    find_path(DIOPIGEN_CUDNN_INCLUDE cudnn.h HINTS ${wheels} ENV CUDNN_PATH ENV CUDA_PATH PATHS /usr/local/cuda
              PATH_SUFFIXES include)
    find_library(DIOPIGEN_CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${wheels} ENV CUDNN_PATH ENV CUDA_PATH
                 PATHS /usr/local/cuda PATH_SUFFIXES lib lib64)
    # The wheel of the frontend has its headers where the environment has those of Python packages.
    file(GLOB frontends "$ENV{VIRTUAL_ENV}/include" "${CMAKE_CURRENT_SOURCE_DIR}/../../.venv/include"
                        "$ENV{VIRTUAL_ENV}/lib/python3*/site-packages/include"
                        "${CMAKE_CURRENT_SOURCE_DIR}/../../.venv/lib/python3*/site-packages/include")
    find_path(DIOPIGEN_CUDNN_FRONTEND_INCLUDE cudnn_frontend.h HINTS ${frontends} ENV CUDNN_FRONTEND_PATH
              PATH_SUFFIXES include)
endif()
set(dnn_sources no_dnn.cpp)
set(attention_source no_fused_attention)
if(DIOPIGEN_CUDA_EMULATION)
    set(dnn_sources dnn.cpp dnn_pooling.cpp)
    set(attention_source fused_attention)
elseif(DIOPIGEN_CUDNN AND DIOPIGEN_CUDNN_INCLUDE AND DIOPIGEN_CUDNN_LIBRARY)
    message(STATUS "diopi_cuda: convolutions and means of windows by ${DIOPIGEN_CUDNN_LIBRARY}")
    list(APPEND library_includes "${DIOPIGEN_CUDNN_INCLUDE}")
    list(APPEND libraries "${DIOPIGEN_CUDNN_LIBRARY}")
    set(dnn_sources dnn.cpp dnn_pooling.cpp)
    if(DIOPIGEN_CUDNN_FRONTEND_INCLUDE)
        message(STATUS "diopi_cuda: attention by it, with the frontend in ${DIOPIGEN_CUDNN_FRONTEND_INCLUDE}")
        list(APPEND library_includes "${DIOPIGEN_CUDNN_FRONTEND_INCLUDE}")
        set(attention_source fused_attention)
    else()
        message(STATUS "diopi_cuda: no frontend of cuDNN, attention by own kernels")
    endif()
else()
    message(STATUS "diopi_cuda: no cuDNN, convolutions, pooling and attention by own kernels")
endif()
list(TRANSFORM dnn_sources PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/libraries/")
set(attention_source "${CMAKE_CURRENT_SOURCE_DIR}/libraries/${attention_source}.cpp")
list(APPEND library_sources ${dnn_sources} "${attention_source}")
if(NOT DIOPIGEN_CUDA_EMULATION)
    # The functions of descriptors are marked as old ones; they are what there is without cuDNN's graphs.
    set_source_files_properties(${dnn_sources} PROPERTIES COMPILE_OPTIONS -Wno-deprecated-declarations)
    # The frontend builds plans, each once: optimising its headers takes longer than all that it does.
    set_source_files_properties("${attention_source}" PROPERTIES COMPILE_OPTIONS -O0
                                COMPILE_DEFINITIONS "NV_CUDNN_FRONTEND_DISABLE_LOGGING;CUDNN_FRONTEND_SKIP_JSON_LIB")
endif()
