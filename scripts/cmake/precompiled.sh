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
if ! command -v ccache > /dev/null; then
    exec nice -n 10 "$@"
fi

# Many files of a chapter are those of the chapter before, so they are compiled once: in the
# checkpoint's folder, with names relative to it, the command is the same in both. Whatever fails is
# compiled again as CMake asked for it: messages then have the whole path, and a cache that can't be
# written costs nothing but time.
compile_in_place() {
    count=$# next= source= depends= target=
    for argument; do
        case $argument in
        *.cpp) source=$argument ;;
        esac
    done
    root=${source%/*}
    [ -e "$root/CMakeLists.txt" ] || root=${root%/*}
    case $root in
    *[!A-Za-z0-9/._+-]* | '') root= ;;  # the list of headers would need quotes
    esac
    if [ ! -e "${root:-none}/CMakeLists.txt" ]; then
        nice -n 10 ccache "$@" 2> /dev/null
        return
    fi
    while [ $count -gt 0 ]; do
        argument=$1
        shift
        count=$((count - 1))
        case $next in
        -MT) target=$argument argument=object ;;
        -MF) depends=$argument ;;
        esac
        case $next$argument in
        -o[!/]* | -MF[!/]*) argument=$PWD/$argument ;;
        esac
        case $argument in
        -o | -MF | -MT) next=$argument ;;
        *) next= ;;
        esac
        case $argument in
        -iquote"$root") set -- "$@" -iquote. ;;
        -iquote"$root"/*) ;;
        *) set -- "$@" "${argument#"$root"/}" ;;
        esac
    done
    # The folders of all checkpoints, whether this one has them or not: those with one folder more
    # would otherwise differ in every command.
    for folder in files http log net tls; do
        set -- "$@" "-iquote$folder"
    done
    (cd "$root" && nice -n 10 ccache "$@" 2> /dev/null) || return 1
    [ -z "$depends" ] || sed -i -E "s#(^|[ ])([^ /\\\\])#\\1$root/\\2#g; s#^$root/object:#$target:#" "$depends"
}
case $compiles-$flags in
yes-*-fprofile* | yes-*-fcs-profile* | no-*) nice -n 10 ccache "$@" 2> /dev/null && exit ;;
*) compile_in_place "$@" && exit ;;
esac
exec nice -n 10 "$@"
