#!/bin/sh
# CMake's compiler launcher. Most of the time that a source takes goes into the headers of the
# standard library, so clang reads them once for each set of flags. What has been compiled before
# comes out of ccache, if that is installed.
#
# A source that doesn't include what it uses would still compile. So chapters with -O3, as in a
# release build, read their headers themselves and report what is missing; with STRICT_INCLUDES set,
# as in the tests, the solutions do, too.
# usage: precompiled.sh DIRECTORY COMPILER ARGUMENT…
set -u
directory=$1
shift

compiles=no ours=no optimised=no solution=no other=no skip=no flags=
for argument; do
    if [ $skip = yes ]; then
        skip=no
        continue
    fi
    case $argument in
    -c) compiles=yes ;;
    -o | -MT | -MF) skip=yes ;;
    */solutions/*.cpp) solution=yes ;;
    -MD | -iquote* | *.cpp) ;;
    *)
        flags="$flags $argument"
        case $argument in
        -Werror) ours=yes ;;
        -O3) optimised=yes ;;
        -x | -fprofile* | -fcs-profile*) other=yes ;;
        esac
        ;;
    esac
done
if [ $optimised = yes ] && { [ $solution = no ] || [ -n "${STRICT_INCLUDES-}" ]; }; then
    other=yes
fi

headers=
case $1-$compiles-$ours-$other in
*clang*-yes-yes-no)
    made_of="$flags $(stat -Lc %Y "$1" /usr/include)"
    headers=$directory/$(printf '%s' "$made_of" | sha256sum | cut -c1-16).pch
    if [ ! -e "$headers" ]; then
        mkdir -p "$directory"
        made=$(mktemp "$headers.XXXXXX")
        for name in algorithm array charconv chrono expected functional map memory mutex optional \
                    span string string_view system_error thread utility vector; do
            echo "#include <$name>"
        done | $flags -Xclang -fno-pch-timestamp -x c++-header -o "$made" - && mv "$made" "$headers"
    fi
    if [ -e "$headers" ]; then
        set -- "$@" -include-pch "$headers"
    fi
    ;;
esac

# A compiler makes way for the servers that are measured meanwhile, and for their clients.
if command -v ccache > /dev/null; then
    exec nice -n 10 ccache "$@"
fi
exec nice -n 10 "$@"
