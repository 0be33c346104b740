# Build it, run it, and create the first key; docs/operations.md has more.
# docker build -t inf-gw .
# docker run --stop-timeout 40 -p 127.0.0.1:8787:8787 -v inf-gw:/data --name inf-gw inf-gw
# docker exec inf-gw inf-gw keys create my-app
FROM node:26-slim AS build
WORKDIR /app
COPY . .
RUN npm ci && npm prune --omit=dev --ignore-scripts

FROM node:26-slim
WORKDIR /app
COPY --from=build /app/package.json ./
COPY --from=build /app/bin ./bin
COPY --from=build /app/dist ./dist
COPY --from=build /app/node_modules ./node_modules
COPY deploy/container.yaml /etc/inf-gw/config.yaml
RUN ln -s /app/bin/inf-gw.js /usr/local/bin/inf-gw && mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 8787
ENV INF_GW_CONFIG=/etc/inf-gw/config.yaml
CMD ["node", "bin/inf-gw.js", "serve"]
