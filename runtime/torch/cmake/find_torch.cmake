# torch as the backend needs it, by targets for all directories:
#
#   diopigen::torch         headers, libtorch_cpu and libc10
#   diopigen::torch_python  these, libtorch_python and the headers of Python, where both are there
#
# and DIOPIGEN_TORCH_INCLUDE, the folder of its headers. torch's own package for CMake is not asked: that of a CUDA build
# demands the CUDA toolkit, which a backend for another device has no use for.
#
# It is the torch of Torch_DIR, else of CMAKE_PREFIX_PATH, else of the Python that CMake finds (Python3_EXECUTABLE).
find_package(Python3 QUIET COMPONENTS Interpreter Development.Module)
set(torch_roots)
if(Torch_DIR)
    list(APPEND torch_roots "${Torch_DIR}/../../..")
endif()
foreach(prefix IN LISTS CMAKE_PREFIX_PATH)
    list(APPEND torch_roots "${prefix}" "${prefix}/../..")  # torch.utils.cmake_prefix_path is <root>/share/cmake
endforeach()
if(Python3_EXECUTABLE)
    execute_process(COMMAND "${Python3_EXECUTABLE}" -c
                            "import importlib.util; print(importlib.util.find_spec('torch').submodule_search_locations[0])"
                    OUTPUT_VARIABLE torch_of_python OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    list(APPEND torch_roots ${torch_of_python})
endif()

set(torch_root)
foreach(folder IN LISTS torch_roots)
    if(NOT torch_root AND EXISTS "${folder}/include/torch/headeronly/version.h")
        get_filename_component(torch_root "${folder}" ABSOLUTE)
    endif()
endforeach()
if(NOT torch_root)
    message(FATAL_ERROR "No torch in Torch_DIR, CMAKE_PREFIX_PATH or ${Python3_EXECUTABLE}. "
                        "`pip install torch`, or set Python3_EXECUTABLE (docs/pytorch.md says which releases work).")
endif()

set(DIOPIGEN_TORCH_INCLUDE "${torch_root}/include")
file(STRINGS "${DIOPIGEN_TORCH_INCLUDE}/torch/headeronly/version.h" torch_version REGEX "^ *\"[0-9.]+\" *$")
string(REGEX MATCH "[0-9.]+" torch_version "${torch_version}")
message(STATUS "torch ${torch_version} in ${torch_root}")

add_library(diopigen_torch INTERFACE)
add_library(diopigen::torch ALIAS diopigen_torch)
target_include_directories(diopigen_torch SYSTEM INTERFACE
    "${DIOPIGEN_TORCH_INCLUDE}" "${DIOPIGEN_TORCH_INCLUDE}/torch/csrc/api/include")
target_compile_features(diopigen_torch INTERFACE cxx_std_20)
target_link_libraries(diopigen_torch INTERFACE "${torch_root}/lib/libtorch_cpu.so" "${torch_root}/lib/libc10.so")
# Of a CUDA build libtorch_cpu itself needs libraries of CUDA, which it finds by itself when it is loaded.
target_link_options(diopigen_torch INTERFACE "LINKER:--allow-shlib-undefined")

set(DIOPIGEN_HAS_TORCH_PYTHON OFF CACHE INTERNAL "")
if(Python3_Development.Module_FOUND AND EXISTS "${torch_root}/lib/libtorch_python.so")
    set(DIOPIGEN_HAS_TORCH_PYTHON ON CACHE INTERNAL "")
    add_library(diopigen_torch_python INTERFACE)
    add_library(diopigen::torch_python ALIAS diopigen_torch_python)
    target_include_directories(diopigen_torch_python SYSTEM INTERFACE ${Python3_INCLUDE_DIRS})
    target_link_libraries(diopigen_torch_python INTERFACE diopigen::torch "${torch_root}/lib/libtorch_python.so")
endif()
