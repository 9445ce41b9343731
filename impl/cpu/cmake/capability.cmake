# DIOPI_CPU_CAPABILITY: the resolvers of cloned functions ask capability.cpp, not libgcc alone (it says why and how).
# Resolvers run before the functions of other libraries are bound: hence the options.
set_source_files_properties("${CMAKE_CURRENT_LIST_DIR}/../src/capability.cpp" PROPERTIES COMPILE_OPTIONS
                            "-fno-plt;-fno-builtin;$<$<CXX_COMPILER_ID:GNU>:-fno-tree-loop-distribute-patterns>")
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    target_link_options(diopi_impl PRIVATE "LINKER:--wrap=__cpu_indicator_init")
endif()
