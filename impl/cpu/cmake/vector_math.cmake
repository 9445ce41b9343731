# Vector forms of transcendental functions: SLEEF's where it is installed, else those of glibc (libmvec; 2.35 or newer on
# x86-64, 2.40 on 64-bit ARM), where the compiler is one that calls them: GCC. Else they are the C library's, one number
# at a time.
include(CheckCXXSourceCompiles)
include(CMakePushCheckState)

option(DIOPIGEN_SLEEF "Take vector forms of transcendental functions from SLEEF where it is found" ON)
option(DIOPIGEN_LIBMVEC "Take them from glibc's libmvec where SLEEF is not taken" ON)

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    set(sleef_forms Sleef_expf4_u10advsimd)
    set(libmvec_forms _ZGVnN4v_erfcf)
else()
    set(sleef_forms Sleef_expf4_u10 Sleef_expf8_u10avx2 Sleef_expf16_u10avx512f)
    set(libmvec_forms _ZGVbN4v_erfcf _ZGVdN8v_erfcf _ZGVeN16v_erfcf)
endif()

# Sets `result` to whether a program links that names vector forms, one for each width.
function(diopigen_check_vector_math result library)
    cmake_push_check_state(RESET)
    set(CMAKE_REQUIRED_LIBRARIES "${library}")
    foreach(form IN LISTS ARGN)
        string(APPEND declared "void ${form}();\n")
        string(APPEND addresses "used = &${form};\n")
    endforeach()
    # The attribute of GCC that names vector forms, and the functions' names. clang lacks the attribute.
    check_cxx_source_compiles("
        #if !defined(__GNUC__) || defined(__clang__) || !(defined(__x86_64__) || defined(__aarch64__))
        #error only GCC calls vector forms of functions
        #endif
        extern \"C\" {
        __attribute__((simd(\"notinbranch\"), const, nothrow)) float diopi_probe(float);
        ${declared}
        }
        void (*volatile used)();
        int main() { ${addresses} }
    " ${result})
    cmake_pop_check_state()
endfunction()

set(vector_math "scalar math")
if(DIOPIGEN_SLEEF)
    diopigen_forget_removed(DIOPIGEN_SLEEF_LIBRARY)
    find_library(DIOPIGEN_SLEEF_LIBRARY sleef)
    if(DIOPIGEN_SLEEF_LIBRARY)
        diopigen_check_vector_math(DIOPIGEN_SLEEF_WORKS "${DIOPIGEN_SLEEF_LIBRARY}" ${sleef_forms})
    endif()
endif()
if(DIOPIGEN_SLEEF AND DIOPIGEN_SLEEF_LIBRARY AND DIOPIGEN_SLEEF_WORKS)
    set(vector_math SLEEF)
    set(vector_math_library "${DIOPIGEN_SLEEF_LIBRARY}")
elseif(DIOPIGEN_LIBMVEC)
    # One of the functions that came last.
    diopigen_check_vector_math(DIOPIGEN_LIBMVEC_WORKS mvec ${libmvec_forms})
    if(DIOPIGEN_LIBMVEC_WORKS)
        set(vector_math libmvec)
        set(vector_math_library mvec)
    endif()
endif()

if(vector_math STREQUAL "scalar math")
    message(STATUS "diopi_cpu: vector math: none (GCC with SLEEF or a newer glibc has it), exp and the like one at a time")
else()
    target_compile_definitions(diopi_impl PRIVATE DIOPI_CPU_VECTOR_MATH)
    target_link_libraries(diopi_impl PRIVATE "${vector_math_library}")
    message(STATUS "diopi_cpu: vector math: ${vector_math} (${vector_math_library})")
endif()
if(vector_math STREQUAL "SLEEF")
    file(GLOB vector_math_sources "${CMAKE_CURRENT_SOURCE_DIR}/src/vector_math/*.cpp")
    set_property(SOURCE ${vector_math_sources} APPEND PROPERTY COMPILE_DEFINITIONS DIOPI_CPU_SLEEF)
endif()
set_property(SOURCE "${CMAKE_CURRENT_SOURCE_DIR}/src/library.cpp" APPEND PROPERTY COMPILE_DEFINITIONS
             "DIOPI_CPU_VECTOR_MATH_LIBRARY=\"${vector_math}\"")
