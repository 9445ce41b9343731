# Vector forms of transcendental functions: SLEEF, if the library is there and the compiler is one that calls them.
include(CheckCXXSourceCompiles)
include(CMakePushCheckState)

if(DIOPIGEN_SLEEF)
    find_library(DIOPIGEN_SLEEF_LIBRARY sleef)
    if(DIOPIGEN_SLEEF_LIBRARY)
        cmake_push_check_state(RESET)
        set(CMAKE_REQUIRED_LIBRARIES "${DIOPIGEN_SLEEF_LIBRARY}")
        # The attribute of GCC that names vector forms, and a function for each width. clang lacks the attribute.
        check_cxx_source_compiles("
            #if !defined(__GNUC__) || defined(__clang__) || !defined(__x86_64__)
            #error only GCC calls vector forms of functions
            #endif
            #include <immintrin.h>
            extern \"C\" {
            __attribute__((simd(\"notinbranch\"), const, nothrow)) float diopi_probe(float);
            __m128 Sleef_expf4_u10(__m128);
            __m256 Sleef_expf8_u10avx2(__m256);
            __m512 Sleef_expf16_u10avx512f(__m512);
            }
            using Any = void (*)();
            Any volatile used[3];
            int main() {
                used[0] = reinterpret_cast<Any>(&Sleef_expf4_u10);
                used[1] = reinterpret_cast<Any>(&Sleef_expf8_u10avx2);
                used[2] = reinterpret_cast<Any>(&Sleef_expf16_u10avx512f);
            }
        " DIOPIGEN_SLEEF_WORKS)
        cmake_pop_check_state()
    endif()
endif()
if(DIOPIGEN_SLEEF AND DIOPIGEN_SLEEF_LIBRARY AND DIOPIGEN_SLEEF_WORKS)
    target_compile_definitions(diopi_impl PRIVATE DIOPI_CPU_SLEEF)
    target_link_libraries(diopi_impl PRIVATE "${DIOPIGEN_SLEEF_LIBRARY}")
    message(STATUS "diopi_cpu: vector math of SLEEF, ${DIOPIGEN_SLEEF_LIBRARY}")
elseif(DIOPIGEN_SLEEF)
    message(STATUS "diopi_cpu: no vector math (SLEEF, libsleef-dev, with GCC on x86-64), exp and the like one at a time")
endif()
