# Vector forms of transcendental functions: SLEEF's where it is installed, else those of glibc (libmvec, 2.35 or newer),
# where the compiler is one that calls them: GCC on x86-64. Else they are the C library's, one number at a time.
include(CheckCXXSourceCompiles)
include(CMakePushCheckState)

option(DIOPIGEN_SLEEF "Take vector forms of transcendental functions from SLEEF where it is found" ON)
option(DIOPIGEN_LIBMVEC "Take them from glibc's libmvec where SLEEF is not taken" ON)

# Sets `result` to whether a program links that names a vector form for each width. The names differ in `prefix` and
# three endings.
function(diopigen_check_vector_math result library sse avx2 avx512)
    cmake_push_check_state(RESET)
    set(CMAKE_REQUIRED_LIBRARIES "${library}")
    # The attribute of GCC that names vector forms, and a function for each width. clang lacks the attribute.
    check_cxx_source_compiles("
        #if !defined(__GNUC__) || defined(__clang__) || !defined(__x86_64__)
        #error only GCC calls vector forms of functions
        #endif
        #include <immintrin.h>
        extern \"C\" {
        __attribute__((simd(\"notinbranch\"), const, nothrow)) float diopi_probe(float);
        __m128 ${sse}(__m128);
        __m256 ${avx2}(__m256);
        __m512 ${avx512}(__m512);
        }
        using Any = void (*)();
        Any volatile used[3];
        int main() {
            used[0] = reinterpret_cast<Any>(&${sse});
            used[1] = reinterpret_cast<Any>(&${avx2});
            used[2] = reinterpret_cast<Any>(&${avx512});
        }
    " ${result})
    cmake_pop_check_state()
endfunction()

set(vector_math "scalar math")
if(DIOPIGEN_SLEEF)
    diopigen_forget_removed(DIOPIGEN_SLEEF_LIBRARY)
    find_library(DIOPIGEN_SLEEF_LIBRARY sleef)
    if(DIOPIGEN_SLEEF_LIBRARY)
        diopigen_check_vector_math(DIOPIGEN_SLEEF_WORKS "${DIOPIGEN_SLEEF_LIBRARY}" Sleef_expf4_u10 Sleef_expf8_u10avx2
                                   Sleef_expf16_u10avx512f)
    endif()
endif()
if(DIOPIGEN_SLEEF AND DIOPIGEN_SLEEF_LIBRARY AND DIOPIGEN_SLEEF_WORKS)
    set(vector_math SLEEF)
    set(vector_math_library "${DIOPIGEN_SLEEF_LIBRARY}")
elseif(DIOPIGEN_LIBMVEC)
    # One of the functions that came last.
    diopigen_check_vector_math(DIOPIGEN_LIBMVEC_WORKS mvec _ZGVbN4v_erfcf _ZGVdN8v_erfcf _ZGVeN16v_erfcf)
    if(DIOPIGEN_LIBMVEC_WORKS)
        set(vector_math libmvec)
        set(vector_math_library mvec)
    endif()
endif()

if(vector_math STREQUAL "scalar math")
    message(STATUS "diopi_cpu: vector math: none (GCC on x86-64 with glibc 2.35 or SLEEF has it), exp and the like one at a time")
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
