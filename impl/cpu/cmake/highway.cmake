# Sorting by vector instructions: Highway's vqsort, if the library is there.
option(DIOPIGEN_HIGHWAY "Sort by Highway's vqsort where it is found" ON)
if(DIOPIGEN_HIGHWAY)
    diopigen_forget_removed(DIOPIGEN_HIGHWAY_INCLUDE)
    diopigen_forget_removed(DIOPIGEN_HIGHWAY_LIBRARY)
    find_path(DIOPIGEN_HIGHWAY_INCLUDE hwy/contrib/sort/vqsort.h)
    find_library(DIOPIGEN_HIGHWAY_LIBRARY hwy_contrib)
endif()
if(DIOPIGEN_HIGHWAY AND DIOPIGEN_HIGHWAY_INCLUDE AND DIOPIGEN_HIGHWAY_LIBRARY)
    # Only for the two sources that ask: a build that finds Highway later compiles no others again.
    set_property(SOURCE "${CMAKE_CURRENT_SOURCE_DIR}/functions/sorting/packed_sort.cpp"
                        "${CMAKE_CURRENT_SOURCE_DIR}/src/library.cpp" APPEND PROPERTY COMPILE_DEFINITIONS DIOPI_CPU_HIGHWAY)
    target_include_directories(diopi_impl SYSTEM PRIVATE "${DIOPIGEN_HIGHWAY_INCLUDE}")
    target_link_libraries(diopi_impl PRIVATE "${DIOPIGEN_HIGHWAY_LIBRARY}")
    message(STATUS "diopi_cpu: sorts by Highway, ${DIOPIGEN_HIGHWAY_LIBRARY}")
else()
    message(STATUS "diopi_cpu: sorts by digits; Highway's vqsort (libhwy-dev) is not there")
endif()
