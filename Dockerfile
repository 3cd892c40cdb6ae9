# htm-memory as a server or a worker. docs/http.md says how to run it.
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY htm_core htm_core
COPY htm_langchain htm_langchain
COPY htm_llamaindex htm_llamaindex
RUN python -m venv /opt/htm && /opt/htm/bin/pip install --no-cache-dir ".[embedded,serve]"

FROM python:3.12-slim
RUN useradd --create-home --uid 10001 htm
COPY --from=build /opt/htm /opt/htm
ENV PATH=/opt/htm/bin:$PATH HTM_HOME=/home/htm/.htm PYTHONUNBUFFERED=1
# htm: by its number, which a host that forbids root can check.
USER 10001
RUN htm setup
EXPOSE 8377
# A worker answers no requests: its container replaces this check.
HEALTHCHECK --interval=10s --timeout=6s --start-period=60s \
  CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8377/health', timeout=5)"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["htm"]
CMD ["serve", "--host", "0.0.0.0"]
