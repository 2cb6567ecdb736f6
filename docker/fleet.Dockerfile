# What a fleet needs beside its servers: the balancer, and the load generator. See fleet.yaml.
ARG BASE=debian:trixie-slim
FROM ${BASE}
RUN apt-get update \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        haproxy \
        wrk \
    && rm -rf /var/cache/apt /var/lib/apt/lists
COPY scripts/wrk /wrk
USER haproxy
