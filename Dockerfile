# Build it, run it, and create the first key; docs/install.md has more. Both base images are named by their digests, since a tag
# can be moved: whoever builds again for fixes in them names newer ones.
# docker build -t inf-gw .
# docker run -d --name inf-gw --init --stop-timeout 40 -p 127.0.0.1:8787:8787 -v inf-gw:/data inf-gw
# docker exec inf-gw inf-gw keys create my-app
FROM node:26.10.0-trixie-slim@sha256:930557a230abacbc3f4fd9b8648abf8f4bee1e17cb72195dcdfb2f709bc85b33 AS build
# `strip` for the build, and libatomic for the executable: the base of the image has all other libraries.
RUN apt-get update && apt-get install -y --no-install-recommends binutils libatomic1
WORKDIR /app
COPY . .
RUN npm ci && npm run build:executable
RUN mkdir -p /image/usr/local/bin /image/etc/inf-gw /data && \
    cp dist/inf-gw-linux-* /image/usr/local/bin/inf-gw && \
    cp deploy/container.yaml /image/etc/inf-gw/config.yaml && \
    cp -L --parents /usr/lib/*-linux-gnu/libatomic.so.1 /image
# Its first command unpacks SQLite's native code, which a container with a read-only root could not do.
RUN XDG_CACHE_HOME=/cache /image/usr/local/bin/inf-gw keys create first \
      --config /image/etc/inf-gw/config.yaml && rm /data/*

# glibc, libstdc++ and the certificates of authorities; no shell, and no package manager.
FROM gcr.io/distroless/cc-debian13:nonroot@sha256:54df941ed0d06a1bd95ef5e0ce391fd8d9f94b64782dc9a60062727849ee3f97
COPY --from=build /image /
COPY --from=build --chown=65532:65532 /cache /var/cache
COPY --from=build --chown=65532:65532 /data /data
# By number, so that Kubernetes can tell that it is not root.
USER 65532:65532
VOLUME /data
EXPOSE 8787
ENV INF_GW_CONFIG=/etc/inf-gw/config.yaml XDG_CACHE_HOME=/var/cache
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s CMD ["/usr/local/bin/inf-gw", "status", "--ready"]
ENTRYPOINT ["/usr/local/bin/inf-gw"]
CMD ["serve"]
