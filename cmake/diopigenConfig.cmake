# diopigen for CMake: files that follow from the spec, made anew when the spec or a template changes, and only then.
#
#   find_package(diopigen REQUIRED)               # -Ddiopigen_DIR=<folder of this file>
#   diopigen_generate(TARGET diopi_headers SPEC specs OUT generated)
#   target_link_libraries(my_kernels PRIVATE diopi_headers)
#
# Under Ninja and Makefiles alike. The command is found on the path, or set DIOPIGEN_EXECUTABLE.
if(CMAKE_VERSION VERSION_LESS 3.24)
    message(FATAL_ERROR "diopigen needs CMake 3.24 or later; this is ${CMAKE_VERSION}")
endif()

set(DIOPIGEN_ROOT "${CMAKE_CURRENT_LIST_DIR}/..")
find_program(DIOPIGEN_EXECUTABLE diopigen HINTS "${DIOPIGEN_ROOT}/.venv/bin" DOC "The diopigen command")

# diopigen_generate(TARGET <name> OUT <folder> [SPEC <folder>] [TEMPLATES <folder>] [ONLY <target>...])
#
# Makes the interface library <name>, which has OUT/include on its include path and is up to date before whatever
# links it is compiled. Without SPEC and TEMPLATES the built-in ones are used. ONLY limits what is generated
# (`diopigen generate --list-targets`). Relative folders are below the current source folder. Files edited by hand
# fail the build.
function(diopigen_generate)
    _diopigen_arguments("TARGET;OUT" "TARGET;OUT;SPEC;TEMPLATES" "ONLY" ${ARGN})
    set(options)
    foreach(name IN LISTS arg_ONLY)
        list(APPEND options --target "${name}")
    endforeach()
    _diopigen_step(generate "${arg_TARGET}" "${arg_OUT}" "${options}")
    _diopigen_headers("${arg_TARGET}" "${arg_OUT}")
endfunction()

# diopigen_adaptors(TARGET <name> IMPL <folder> OUT <folder> [CONFIG <file>] [VENDOR <name>] [SPEC <folder>])
#
# Keeps OUT/adaptor.cpp, the shims over the kernels below IMPL, up to date with the kernels and with convert_config.yaml.
# Compile that file into the vendor's library, and let the library depend on the target <name>_adaptors. The options
# are those of `diopigen adaptors`.
function(diopigen_adaptors)
    _diopigen_arguments("TARGET;IMPL;OUT" "TARGET;IMPL;OUT;CONFIG;VENDOR;SPEC" "" ${ARGN})
    set(options "${arg_IMPL}")
    if(arg_CONFIG)
        list(APPEND options --config "${arg_CONFIG}")
    endif()
    if(arg_VENDOR)
        list(APPEND options --vendor "${arg_VENDOR}")
    endif()
    file(GLOB_RECURSE kernels CONFIGURE_DEPENDS "${arg_IMPL}/*.cpp" "${arg_IMPL}/*.cc" "${arg_IMPL}/*.cxx" "${arg_IMPL}/*.cu")
    _diopigen_step(adaptors "${arg_TARGET}" "${arg_OUT}" "${options}" ${kernels})
endfunction()

# diopigen_add_runtime([<part>...] [INCLUDE_DIR <folder>])
#
# Adds the host runtime, the targets diopigen_runtime, diopigen_runtime_whole, diopigen_runtime_shared and
# diopigen_host_device; diopigen_headers, an interface library with the headers that kernels and shims include; and
# parts, which are folders of the runtime: kernels (target diopi_kernels), torch (function diopi_torch), tvm, tvm_ffi,
# sim, dispatch. It can be called again for more parts. INCLUDE_DIR contains diopi/diopirt.h; without it the headers
# that come with diopigen count.
function(diopigen_add_runtime)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "INCLUDE_DIR" "")
    if(arg_INCLUDE_DIR)
        get_filename_component(DIOPIGEN_INCLUDE_DIR "${arg_INCLUDE_DIR}" ABSOLUTE)
    else()
        get_filename_component(DIOPIGEN_INCLUDE_DIR "${DIOPIGEN_ROOT}/generated/include" ABSOLUTE)
    endif()
    foreach(part IN LISTS arg_UNPARSED_ARGUMENTS)
        if(NOT EXISTS "${DIOPIGEN_ROOT}/runtime/${part}/CMakeLists.txt")
            message(FATAL_ERROR "diopigen_add_runtime: there is no runtime/${part} in ${DIOPIGEN_ROOT}")
        endif()
    endforeach()
    if(NOT TARGET diopigen_runtime)
        add_subdirectory("${DIOPIGEN_ROOT}/runtime" "${CMAKE_BINARY_DIR}/runtime")
        add_library(diopigen_headers INTERFACE)
        target_include_directories(diopigen_headers INTERFACE "${DIOPIGEN_INCLUDE_DIR}"
            "${DIOPIGEN_ROOT}/runtime/include" "${DIOPIGEN_ROOT}/runtime/adaptor/include")
    endif()
    foreach(part IN LISTS arg_UNPARSED_ARGUMENTS)
        if(NOT TARGET diopi_${part} AND NOT COMMAND diopi_${part})
            add_subdirectory("${DIOPIGEN_ROOT}/runtime/${part}" "${CMAKE_BINARY_DIR}/${part}")
        endif()
    endforeach()
endfunction()

# ---- Inside ---------------------------------------------------------------------------------------------------------

# Reads the arguments of a function into arg_..., with folders made absolute. A macro: it sets the caller's variables.
macro(_diopigen_arguments required single multiple)
    cmake_parse_arguments(arg "" "${single}" "${multiple}" ${ARGN})
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "${CMAKE_CURRENT_FUNCTION}: unknown argument '${arg_UNPARSED_ARGUMENTS}'")
    endif()
    foreach(name ${required})
        if(NOT arg_${name})
            message(FATAL_ERROR "${CMAKE_CURRENT_FUNCTION}: ${name} is missing")
        endif()
    endforeach()
    foreach(name OUT SPEC TEMPLATES)
        if(arg_${name})
            get_filename_component(arg_${name} "${arg_${name}}" ABSOLUTE)
        endif()
    endforeach()
    foreach(name SPEC TEMPLATES)
        if(arg_${name} AND NOT IS_DIRECTORY "${arg_${name}}")
            message(FATAL_ERROR "${CMAKE_CURRENT_FUNCTION}: ${name}: there is no folder ${arg_${name}}")
        endif()
    endforeach()
    if(NOT DIOPIGEN_EXECUTABLE)
        message(FATAL_ERROR "${CMAKE_CURRENT_FUNCTION}: the diopigen command is not on the path. "
                            "Install diopigen, or set -DDIOPIGEN_EXECUTABLE=<path>.")
    endif()
endmacro()

# A build step that runs `diopigen <command> --out <out>`; the custom target <target>_<command> stands for it. For
# every command that takes --stamp and --depfile.
#
# The stamp is the output, not the files: they are written only when they change, and Make would run the step again at
# each build for files older than the spec. As byproducts they are known to Ninja all the same.
#
# What follows `options` are files that the step depends on from the start.
function(_diopigen_step command target out options)
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/diopigen")
    set(stamp "${folder}/${target}.stamp")
    set(line "${DIOPIGEN_EXECUTABLE}" ${command} ${options} --out "${out}")
    # The dependency file names what the last run read. The globs are for files that are new since, which a run before
    # could not have read.
    set(inputs ${ARGN})
    if(arg_SPEC)
        list(APPEND line --spec "${arg_SPEC}")
        file(GLOB_RECURSE found CONFIGURE_DEPENDS "${arg_SPEC}/*.yaml")
        list(APPEND inputs ${found})
    endif()
    if(arg_TEMPLATES)
        list(APPEND line --templates "${arg_TEMPLATES}")
        file(GLOB_RECURSE found CONFIGURE_DEPENDS "${arg_TEMPLATES}/*.j2")
        list(APPEND inputs ${found})
    endif()
    _diopigen_planned("${out}" planned ${line})
    file(MAKE_DIRECTORY "${folder}")
    add_custom_command(
        OUTPUT "${stamp}"
        BYPRODUCTS ${planned}
        COMMAND ${line} --stamp "${stamp}" --depfile "${stamp}.d"
        DEPENDS ${inputs}
        DEPFILE "${stamp}.d"
        WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
        COMMENT "diopigen ${command}: ${target}"
        VERBATIM)
    add_custom_target(${target}_${command} DEPENDS "${stamp}")
endfunction()

# The files that a command line will write, as absolute paths.
function(_diopigen_planned out result)
    execute_process(
        COMMAND ${ARGN} --dry-run
        WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}"
        OUTPUT_VARIABLE listing
        ERROR_VARIABLE problems
        RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "diopigen cannot tell what it will write:\n${problems}")
    endif()
    set(paths)
    string(REGEX MATCHALL "(would write|unchanged) +[^\n]+" lines "${listing}")
    foreach(entry IN LISTS lines)
        string(REGEX REPLACE "^(would write|unchanged) +" "" path "${entry}")
        list(APPEND paths "${out}/${path}")
    endforeach()
    set(${result} "${paths}" PARENT_SCOPE)
endfunction()

# The interface library over the generated headers.
function(_diopigen_headers target out)
    add_library(${target} INTERFACE)
    target_include_directories(${target} INTERFACE "${out}/include")
    add_dependencies(${target} ${target}_generate)
endfunction()
