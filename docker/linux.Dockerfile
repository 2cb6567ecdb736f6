# Two images. The workbench has all tools of the workbook, and is given the clone to work on:
#
#   docker build -f docker/linux.Dockerfile --target workbench -t hotpath-linux .
#
# A server has one checkpoint and what it links, nothing else:
#
#   docker build -f docker/linux.Dockerfile --build-arg CHECKPOINT=solutions/07-workers -t seven .
#
# With WORKBENCH=hotpath-bsd, which bsd.Dockerfile makes, the server is for kqueue. BASE may end in a
# digest: debian:trixie-slim@sha256:…; without a registry, docker/make-base makes it.
ARG BASE=debian:trixie-slim
ARG WORKBENCH=workbench

FROM ${BASE} AS workbench
ENV DEBIAN_FRONTEND=noninteractive

# What nobody runs here: manuals, packagers, static OpenSSL, 32-bit programs under valgrind, git's scripts in Perl.
RUN printf 'path-exclude=%s\n' \
        '/usr/bin/*-lto-dump-*' \
        '/usr/bin/cpack' \
        '/usr/bin/ctest' \
        '/usr/lib/*-linux-gnu/libcrypto.a' \
        '/usr/lib/*-linux-gnu/libssl.a' \
        '/usr/lib/*-linux-gnu/perl/*' \
        '/usr/libexec/valgrind/*-x86-linux' \
        '/usr/share/cmake-*/Help/*' \
        '/usr/share/doc/*' \
        '/usr/share/locale/*' \
        '/usr/share/man/*' \
        '/usr/share/perl/*' \
        > /etc/dpkg/dpkg.cfg.d/lean

# Debian 13's g++ is new enough, and smaller than clang.
RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        ca-certificates \
        cmake \
        g++ \
        libjemalloc-dev \
        libssl-dev \
        ninja-build \
    && rm -rf /var/cache/apt /var/lib/apt/lists

RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        ccache \
        git \
        iproute2 \
        libbenchmark-dev \
        libgtest-dev \
        openssl \
        patch \
        strace \
        valgrind \
        wrk \
    && rm -rf /var/cache/apt /var/lib/apt/lists

RUN apt-get update \
    && apt-get install -y --no-install-recommends \
        python3-venv \
    && rm -rf /var/cache/apt /var/lib/apt/lists

# pip trusts what the system trusts, on a network with certificates of its own too. Nobody runs the
# packages' own tests.
WORKDIR /hotpath
COPY scripts/hotpath scripts/requirements.txt scripts/
COPY scripts/workbook/common scripts/workbook/common
RUN PIP_CERT=/etc/ssl/certs/ca-certificates.crt PIP_NO_CACHE_DIR=1 \
        python3 -c "import runpy; runpy.run_path('scripts/hotpath')['make_environment']()" \
    && .venv/bin/python -m pip uninstall -qy pip \
    && find .venv -type d -name tests -prune -exec rm -rf {} +

# The clone is seen here; what is built and remembered is the caller's.
RUN mkdir build .hotpath \
    && chmod 1777 build .hotpath
ENV HOME=/tmp \
    HOTPATH_IN=linux
USER 1000:1000
ENTRYPOINT ["./scripts/hotpath"]
CMD ["--help"]
LABEL org.opencontainers.image.title="Hot Path: the workbench" \
      org.opencontainers.image.licenses="MIT" \
      hotpath.whole="linux"

FROM ${WORKBENCH} AS build
USER root
WORKDIR /build
COPY docker/health.cpp docker/
RUN mkdir image \
    && g++ -std=c++23 -O2 -static -s docker/health.cpp -o image/health
COPY scripts/cmake scripts/cmake
COPY scripts/poller scripts/poller
ARG CHECKPOINT=solutions/08-allocator-pgo
COPY ${CHECKPOINT} ${CHECKPOINT}
RUN cmake -G Ninja -S ${CHECKPOINT} -B out -DCMAKE_EXE_LINKER_FLAGS=-Wl,-Map=server.map \
    && cmake --build out --target "$(echo ${CHECKPOINT} | tr / -)-server" \
    && cp out/server image \
    && ldd image/server | grep -o '/[^ ]*' | xargs cp --dereference --parents -t image

FROM scratch AS server
COPY --from=build /build/image /
ARG CHECKPOINT=solutions/08-allocator-pgo
USER 65532:65532
EXPOSE 8080
HEALTHCHECK --interval=2s --timeout=5s CMD ["/health"]
ENTRYPOINT ["/server", "--host", "0.0.0.0"]
LABEL org.opencontainers.image.title="Hot Path: ${CHECKPOINT}" \
      org.opencontainers.image.licenses="MIT"
