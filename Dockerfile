# streamfuse as a small image. Build:  docker build -t streamfuse .
# Run:  docker run -p 8787:8787 -v ./config.yaml:/etc/streamfuse/config.yaml:ro streamfuse
# Another base with Python 3.11 or newer (your mirror, a distroless, a Debian):  --build-arg BASE=…
ARG BASE=python:3.12-slim

FROM ${BASE} AS build
WORKDIR /src
# Dependencies first: they change less often than the code, and the layer is kept.
COPY pyproject.toml README.md LICENSE ./
RUN python3 -m venv /opt/streamfuse \
 && mkdir proxy rules && touch proxy/__init__.py rules/__init__.py \
 && /opt/streamfuse/bin/pip install --no-cache-dir --disable-pip-version-check .
COPY proxy proxy
COPY rules rules
RUN /opt/streamfuse/bin/pip install --no-cache-dir --disable-pip-version-check --no-deps --force-reinstall . \
 && /opt/streamfuse/bin/python -m compileall -q /opt/streamfuse/lib \
 && cd /opt/streamfuse/lib/python3*/site-packages \
 && rm -rf pip pip-* setuptools setuptools-* pkg_resources _distutils_hack distutils-precedence.pth /opt/streamfuse/bin/pip*

FROM ${BASE}
LABEL org.opencontainers.image.title="streamfuse" \
      org.opencontainers.image.description="A fuse between an LLM agent and its model" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/streamfuse /opt/streamfuse
# A number, so that Kubernetes' runAsNonRoot can see that it is not root.
USER 10001:10001
WORKDIR /etc/streamfuse
ENV PATH=/opt/streamfuse/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    MALLOC_ARENA_MAX=2 \
    MALLOC_MMAP_THRESHOLD_=262144 \
    MALLOC_TRIM_THRESHOLD_=262144 \
    STREAMFUSE_LISTEN__HOST=0.0.0.0
EXPOSE 8787
# Asks the port that the config says, ops included. Images in OCI format have no HEALTHCHECK: buildah and podman keep it
# with --format docker (make image does), and docker-compose.yml has it, too.
HEALTHCHECK --interval=30s --timeout=10s --start-period=10s CMD ["streamfuse", "health"]
# SIGTERM drains within the 10 s that `docker stop` waits; a longer `drain.grace` needs a longer stop time.
STOPSIGNAL SIGTERM
ENTRYPOINT ["streamfuse"]
CMD ["serve"]
