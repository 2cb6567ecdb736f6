#!/bin/sh
# CMake's compiler launcher for the tests. Most of the time that a source takes goes into the headers
# of the standard library: clang reads them once for each set of flags, and what has been compiled
# before comes out of ccache, where there is one. What is built with -O3, as readers build it, reads
# its headers itself: so an #include that is missing is missed.
# usage: precompiling.sh DIRECTORY COMPILER ARGUMENT…
set -u
directory=$1
shift

compiles=no ours=no other=no skip=no flags=
for argument; do
    if [ $skip = yes ]; then
        skip=no
        continue
    fi
    case $argument in
    -c) compiles=yes ;;
    -o | -MT | -MF) skip=yes ;;
    -MD | -iquote* | *.cpp) ;;
    *)
        flags="$flags $argument"
        case $argument in
        -Werror) ours=yes ;;
        -O3 | -x) other=yes ;;
        esac
        ;;
    esac
done

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
    set -- "$@" -include-pch "$headers"
    ;;
esac

# Who compiles steps back behind the servers that are judged meanwhile, and behind their clients.
if command -v ccache > /dev/null; then
    exec nice -n 10 ccache "$@"
fi
exec nice -n 10 "$@"
