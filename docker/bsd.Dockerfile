# The workbench of linux.Dockerfile with kqueue(2): our layer is the system's <sys/event.h> and a
# library of its own, and every event loop is built for it. First build the other, hotpath-linux.
ARG LINUX=hotpath-linux
FROM ${LINUX} AS workbench
USER root
COPY scripts/cmake scripts/cmake
COPY docker/bsd/kqueue docker/bsd/kqueue
RUN cmake -G Ninja -S docker/bsd/kqueue -B /tmp/kqueue -DBUILD_SHARED_LIBS=ON \
    && cmake --build /tmp/kqueue --target hotpath_kqueue \
    && cmake --install /tmp/kqueue \
    && ldconfig \
    && rm -r /tmp/kqueue
ENV HOTPATH_IN=bsd \
    HOTPATH_POLLER=kqueue
USER 1000:1000
LABEL org.opencontainers.image.title="Hot Path: the workbench, with kqueue" \
      hotpath.whole="bsd"
