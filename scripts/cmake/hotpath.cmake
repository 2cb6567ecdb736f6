# Included before project(). Picks a compiler that has the C++23 that the workbook needs, and
# provides hotpath_server(), which builds a checkpoint's sources into
# build/<preset>/<checkpoint>/server, and hotpath_program(), the same for a program of another name.
include_guard(GLOBAL)

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_OSX_DEPLOYMENT_TARGET 13.3 CACHE STRING "The first macOS whose libc++ has <expected>")

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
endif()

# The minimum is a library with <expected> and <print>, which older ones lack. A compiler that the
# user chose is not checked.
function(hotpath_find_compiler)
    set(probe ${CMAKE_BINARY_DIR}/hotpath_probe.cpp)
    file(WRITE ${probe} "#include <expected>\n#include <print>\nstd::expected<int, int> x = 1;\n")
    set(names clang++-21 clang++-20 clang++-19 clang++-18 g++-15 g++-14 c++ clang++ g++)
    foreach(name IN LISTS names)
        find_program(HOTPATH_${name} ${name})
        foreach(library IN ITEMS "-stdlib=libc++" "")
            if(HOTPATH_${name})
                execute_process(
                    COMMAND ${HOTPATH_${name}} -std=c++23 ${library} -fsyntax-only -x c++ ${probe}
                    RESULT_VARIABLE failed
                    OUTPUT_QUIET
                    ERROR_QUIET
                )
                if(NOT failed)
                    set(CMAKE_CXX_COMPILER ${HOTPATH_${name}} CACHE FILEPATH "C++ compiler")
                    set(CMAKE_CXX_FLAGS_INIT "${library}" CACHE INTERNAL "")
                    return()
                endif()
            endif()
        endforeach()
    endforeach()
    message(FATAL_ERROR
        "No C++23 compiler with <expected> and <print> was found (tried: ${names}).\n"
        "Next: run ./scripts/hotpath setup, or name one: cmake -DCMAKE_CXX_COMPILER=…"
    )
endfunction()

if(NOT CMAKE_CXX_COMPILER AND NOT DEFINED ENV{CXX})
    hotpath_find_compiler()
endif()

# Warnings are errors, and sanitizers are chosen by a preset (HOTPATH_SANITIZE). A build for
# counting instructions uses only instructions and debug information that valgrind 3.19 can read.
set(CMAKE_CXX_FLAGS_MEASURE "-O2 -DNDEBUG -gdwarf-4")
function(hotpath_options target)
    target_compile_options(${target} PRIVATE
        -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Werror
    )
    if(CMAKE_BUILD_TYPE STREQUAL "Measure" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        target_compile_options(${target} PRIVATE -march=x86-64-v3)
    endif()
    if(HOTPATH_SANITIZE)
        set(sanitize -fsanitize=${HOTPATH_SANITIZE} -fno-sanitize-recover=all)
        if(HOTPATH_SANITIZE MATCHES "undefined")
            # The vptr check opens a pipe to see whether an object is readable, so it reports a
            # false error in a server that has run out of descriptors.
            list(APPEND sanitize -fno-sanitize=vptr)
        endif()
        target_compile_options(${target} PRIVATE ${sanitize} -fno-omit-frame-pointer)
        target_link_options(${target} PRIVATE ${sanitize})
    endif()
    find_package(Threads REQUIRED)
    target_link_libraries(${target} PRIVATE Threads::Threads)
endfunction()

# A system may set its default poller, as that of docker/bsd.Dockerfile does.
if(DEFINED ENV{HOTPATH_POLLER})
    set(HOTPATH_POLLER $ENV{HOTPATH_POLLER} CACHE STRING "epoll or kqueue")
endif()

# Linux has no kqueue, so ours is used, on top of epoll. If it is installed, it is a library like
# any other.
function(hotpath_link_kqueue target)
    find_library(HOTPATH_KQUEUE hotpath_kqueue)
    if(HOTPATH_KQUEUE)
        target_link_libraries(${target} PRIVATE ${HOTPATH_KQUEUE})
        return()
    endif()
    if(NOT TARGET hotpath_kqueue)
        set(kqueue ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../docker/bsd/kqueue)
        add_subdirectory(${kqueue} ${CMAKE_BINARY_DIR}/kqueue EXCLUDE_FROM_ALL)
    endif()
    target_link_libraries(${target} PRIVATE hotpath_kqueue)
endfunction()

# The target of a checkpoint's program is named after its folder (solutions-01-naive-server), so
# that a starter and a solution share one CMakeLists.txt.
function(hotpath_target name result)
    cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME checkpoint)
    cmake_path(GET CMAKE_CURRENT_SOURCE_DIR PARENT_PATH parent)
    cmake_path(GET parent FILENAME tree)
    set(${result} ${tree}-${checkpoint}-${name} PARENT_SCOPE)
endfunction()

# The folders of a checkpoint that have headers: net, http, …; in the early chapters there are none.
function(hotpath_folders checkpoint result)
    file(GLOB headers ${checkpoint}/*/*.h)
    list(TRANSFORM headers REPLACE "/[^/]+$" "")
    list(REMOVE_DUPLICATES headers)
    set(${result} ${headers} PARENT_SCOPE)
endfunction()

# A file of the checkpoint, in it or in one of its folders.
function(hotpath_find name result)
    file(GLOB found RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${name} */${name})
    set(${result} ${found} PARENT_SCOPE)
endfunction()

# A program of the checkpoint, build/<preset>/<checkpoint>/<name>.
function(hotpath_program name)
    hotpath_target(${name} target)
    add_executable(${target} ${ARGN})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name})
    hotpath_options(${target})
    hotpath_folders(${CMAKE_CURRENT_SOURCE_DIR} folders)
    if(folders)
        hotpath_quoted(${target})
    endif()
    if(LINUX AND "${ARGN}" MATCHES "poller_kqueue\\.cpp")
        hotpath_link_kqueue(${target})
    endif()
endfunction()

function(hotpath_server)
    hotpath_program(server ${ARGN})
    if(CMAKE_BUILD_TYPE STREQUAL "Measure")
        hotpath_mirror()
        if("${ARGN}" MATCHES "(^|[;/])tls_session\\.cpp")
            hotpath_session()
        else()
            file(REMOVE ${CMAKE_CURRENT_BINARY_DIR}/session)  # must not be judged instead
        endif()
        if("${ARGN}" MATCHES "(^|[;/])log_format\\.cpp")
            hotpath_log_format()
        else()
            file(REMOVE ${CMAKE_CURRENT_BINARY_DIR}/log-format)
        endif()
        if("${ARGN}" MATCHES "(^|[;/])send_ring_linux\\.cpp")
            hotpath_ring()
        else()
            file(REMOVE ${CMAKE_CURRENT_BINARY_DIR}/ring)
        endif()
    endif()
    if(LINUX AND "${ARGN}" MATCHES "poller_kqueue\\.cpp")
        hotpath_poller()
    endif()
endfunction()

# Lets its sources include the headers of this folder and of those in it by their names, in quotes
# only: with -I, a reader's limits.h would replace the system's.
function(hotpath_quoted target)
    hotpath_folders(${CMAKE_CURRENT_SOURCE_DIR} folders)
    foreach(folder IN ITEMS ${CMAKE_CURRENT_SOURCE_DIR} ${folders})
        target_compile_options(${target} PRIVATE -iquote${folder})
    endforeach()
endfunction()

# The server's objects with another application: see scripts/mirror/app.cpp.
function(hotpath_mirror)
    hotpath_target(server server)
    hotpath_target(mirror mirror)
    hotpath_find(handler.h handler)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${handler})
    file(STRINGS ${handler} in_pieces REGEX "^ *virtual .*begin\\(const Request")
    if(in_pieces)
        set(app app_in_pieces)
    else()
        set(app app)
    endif()
    hotpath_program(mirror
        ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../mirror/${app}.cpp
        $<FILTER:$<TARGET_OBJECTS:${server}>,EXCLUDE,/app\\.cpp>
    )
    hotpath_quoted(${mirror})
    target_link_options(${mirror} PRIVATE $<TARGET_PROPERTY:${server},LINK_OPTIONS>)
    target_link_libraries(${mirror} PRIVATE $<TARGET_PROPERTY:${server},LINK_LIBRARIES>)
endfunction()

# The checkpoint's TLS session alone: see scripts/tls/session_test.cpp.
function(hotpath_session)
    hotpath_target(server server)
    hotpath_target(session session)
    hotpath_program(session
        ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../tls/session_test.cpp
        $<FILTER:$<TARGET_OBJECTS:${server}>,EXCLUDE,/main\\.cpp>
    )
    hotpath_quoted(${session})
    target_link_options(${session} PRIVATE $<TARGET_PROPERTY:${server},LINK_OPTIONS>)
    target_link_libraries(${session} PRIVATE $<TARGET_PROPERTY:${server},LINK_LIBRARIES>)
endfunction()

# The checkpoint's log lines alone: see scripts/log/format_test.cpp.
function(hotpath_log_format)
    hotpath_target(server server)
    hotpath_target(log-format log_format)
    hotpath_program(log-format
        ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../log/format_test.cpp
        $<FILTER:$<TARGET_OBJECTS:${server}>,EXCLUDE,/main\\.cpp>
    )
    hotpath_quoted(${log_format})
    target_link_options(${log_format} PRIVATE $<TARGET_PROPERTY:${server},LINK_OPTIONS>)
    target_link_libraries(${log_format} PRIVATE $<TARGET_PROPERTY:${server},LINK_LIBRARIES>)
endfunction()

# The checkpoint's ring of sends alone: see scripts/ring/ring_test.cpp.
function(hotpath_ring)
    hotpath_target(ring ring)
    hotpath_find(send_ring_linux.cpp source)
    hotpath_program(ring
        ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../ring/ring_test.cpp
        ${source}
    )
    hotpath_quoted(${ring})
endfunction()

# The checkpoint's kqueue backend alone: see scripts/poller/poller_test.cpp.
function(hotpath_poller)
    hotpath_target(poller poller)
    hotpath_find(poller_kqueue.cpp source)
    hotpath_program(poller
        ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../poller/poller_test.cpp
        ${source}
    )
    hotpath_quoted(${poller})
    target_link_options(${poller} PRIVATE -Wl,--wrap=kevent)
endfunction()

# A lab's programs, build/<preset>/<lab>/bench or, under a sanitizer, validate: the lab's
# validate.cpp and bench.cpp with the task.h of this folder. If the libraries are missing, neither
# is built. A lab with WAITS uses our kqueue on Linux too if the preset says so.
function(hotpath_lab lab)
    hotpath_find_lab_libraries()
    if(NOT HOTPATH_LAB_LIBRARIES)
        message(STATUS "${lab} is left out: it needs GoogleTest and Google Benchmark")
        return()
    endif()
    set(scripts ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/..)
    if(HOTPATH_SANITIZE)
        set(name validate)
        set(libraries GTest::gtest_main)
    else()
        set(name bench)
        set(libraries benchmark::benchmark_main)
    endif()
    hotpath_program(${name} ${scripts}/../chapters/${lab}/${name}.cpp)
    hotpath_target(${name} target)
    target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR} ${scripts}/lab)
    target_compile_options(${target} PRIVATE ${HOTPATH_LAB_OPTIONS})
    target_link_options(${target} PRIVATE ${HOTPATH_LAB_OPTIONS})
    target_link_libraries(${target} PRIVATE ${libraries})
    if(LINUX AND HOTPATH_POLLER STREQUAL "kqueue" AND "WAITS" IN_LIST ARGN)
        # The sources of kqueue, because the library may have been built with another C++ standard
        # library.
        set(kqueue ${scripts}/../docker/bsd/kqueue)
        target_sources(${target} PRIVATE
            ${kqueue}/filter.cpp
            ${kqueue}/filter_ops.cpp
            ${kqueue}/kqueue.cpp
            ${kqueue}/queue.cpp
        )
        target_include_directories(${target} SYSTEM PRIVATE ${kqueue})
        target_compile_definitions(${target} PRIVATE HOTPATH_KQUEUE)
    endif()
endfunction()

# GoogleTest and Google Benchmark are binary packages, so a lab is built with the C++ standard
# library that they were built with, which may differ from the servers'. A GoogleTest function that
# returns a string shows which one it is.
macro(hotpath_find_lab_libraries)
    find_package(GTest QUIET)
    find_package(benchmark QUIET)
    set(HOTPATH_LAB_LIBRARIES NO)
    if(GTest_FOUND AND benchmark_FOUND)
        include(CheckCXXSourceCompiles)
        set(CMAKE_REQUIRED_LIBRARIES GTest::gtest)
        check_cxx_source_compiles("${hotpath_lab_probe}" HOTPATH_LAB_LINKS)
        if(HOTPATH_LAB_LINKS)
            set(HOTPATH_LAB_LIBRARIES YES)
        elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
            set(CMAKE_REQUIRED_FLAGS -stdlib=libstdc++)
            check_cxx_source_compiles("${hotpath_lab_probe}" HOTPATH_LAB_LINKS_LIBSTDCXX)
            set(HOTPATH_LAB_LIBRARIES ${HOTPATH_LAB_LINKS_LIBSTDCXX})
            set(HOTPATH_LAB_OPTIONS -stdlib=libstdc++)
        endif()
    endif()
endmacro()
set(hotpath_lab_probe [[
    #include <string>
    namespace testing { std::string TempDir(); }
    int main() { return testing::TempDir().empty() ? 1 : 0; }
]])
