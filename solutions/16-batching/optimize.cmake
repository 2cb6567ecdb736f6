# What a linker and a compiler can add to a finished program: another allocator, link-time
# optimisation across source files, and a profile of the real load.

cmake_path(GET CMAKE_CURRENT_SOURCE_DIR FILENAME checkpoint)
cmake_path(GET CMAKE_CURRENT_SOURCE_DIR PARENT_PATH parent)
cmake_path(GET parent FILENAME tree)
set(server ${tree}-${checkpoint}-server)

set(allocator other)
set(HOTPATH_ALLOCATOR jemalloc CACHE STRING "jemalloc, mimalloc or system")
set_property(CACHE HOTPATH_ALLOCATOR PROPERTY STRINGS jemalloc mimalloc system)
if(HOTPATH_SANITIZE)
    message(STATUS "${server}: a sanitizer brings its own allocator")
elseif(NOT HOTPATH_ALLOCATOR STREQUAL "system")
    find_library(HOTPATH_LIB_${HOTPATH_ALLOCATOR} ${HOTPATH_ALLOCATOR})
    if(NOT HOTPATH_LIB_${HOTPATH_ALLOCATOR})
        message(FATAL_ERROR
            "${server}: lib${HOTPATH_ALLOCATOR} was not found.\n"
            "Next: run ./scripts/hotpath setup, or build with the system's own allocator: "
            "cmake -DHOTPATH_ALLOCATOR=system …"
        )
    endif()
    if(HOTPATH_ALLOCATOR STREQUAL "jemalloc")
        set(allocator jemalloc)
    endif()
    # The program never refers to mimalloc by name, so a linker that drops unneeded libraries would
    # drop it. Apple's linker does not, and lacks these options.
    set(library ${HOTPATH_LIB_${HOTPATH_ALLOCATOR}})
    if(NOT APPLE)
        set(library -Wl,--push-state,--no-as-needed ${library} -Wl,--pop-state)
    endif()
    target_link_libraries(${server} PRIVATE ${library})
endif()
target_sources(${server} PRIVATE allocator_${allocator}.cpp)

option(HOTPATH_LTO "Optimise across source files" ON)
if(HOTPATH_LTO AND CMAKE_BUILD_TYPE MATCHES "Release|Measure" AND NOT HOTPATH_SANITIZE)
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        target_compile_options(${server} PRIVATE -flto)
        target_link_options(${server} PRIVATE -flto)
        if(NOT APPLE)
            target_link_options(${server} PRIVATE -fuse-ld=lld)
        endif()
    else()
        target_compile_options(${server} PRIVATE -flto -flto-partition=none)
        target_link_options(${server} PRIVATE -flto -flto-partition=none)
    endif()
endif()

# GENERATE counts, USE builds with the counts. clang has a second, context-sensitive round
# (CS_GENERATE) on top of the first one's profile. `hotpath pgo` runs them in order.
set(HOTPATH_PGO OFF CACHE STRING "OFF, GENERATE, CS_GENERATE or USE")
set_property(CACHE HOTPATH_PGO PROPERTY STRINGS OFF GENERATE CS_GENERATE USE)
set(HOTPATH_PROFILE ${CMAKE_CURRENT_BINARY_DIR}/profile CACHE PATH "Where the profile is")
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    set(merged ${HOTPATH_PROFILE}/merged.profdata)
    set(pgo_GENERATE -fprofile-generate=${HOTPATH_PROFILE} -fprofile-update=atomic)
    set(pgo_CS_GENERATE
        -fprofile-use=${merged} -fcs-profile-generate=${HOTPATH_PROFILE} -fprofile-update=atomic
    )
    set(pgo_USE -fprofile-use=${merged})
else()
    set(pgo_GENERATE -fprofile-generate -fprofile-dir=${HOTPATH_PROFILE} -fprofile-update=atomic)
    set(pgo_USE -fprofile-use=${HOTPATH_PROFILE} -fprofile-correction -Wmissing-profile)
endif()
if(HOTPATH_PGO)
    if(NOT pgo_${HOTPATH_PGO})
        message(FATAL_ERROR "HOTPATH_PGO=${HOTPATH_PGO} is not for ${CMAKE_CXX_COMPILER_ID}.")
    endif()
    target_compile_options(${server} PRIVATE ${pgo_${HOTPATH_PGO}})
    target_link_options(${server} PRIVATE ${pgo_${HOTPATH_PGO}})
endif()
