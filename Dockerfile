# syntax=docker/dockerfile:1
# One image for every process of Gate; the command says which: `serve proxy`, `worker`, `prepare engine`, ... (docker-compose.yml).
# NOT YET BUILT ON AN ENGINE: see docker-compose.yml.

# The compiler of policies: changes of rules need it (`policy-engine`), calls do not. OPA_VERSION is that of stack/programs/find-program.ts.
FROM golang:1.26-bookworm AS opa
ARG OPA_VERSION=v1.22.0
RUN CGO_ENABLED=0 GOBIN=/out go install -trimpath -ldflags='-s -w' github.com/open-policy-agent/opa@${OPA_VERSION}

FROM node:20-bookworm-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY sdks/typescript/agent-sdk/package.json ./sdks/typescript/agent-sdk/
COPY sdks/typescript/control-plane/package.json ./sdks/typescript/control-plane/
COPY sdks/typescript/temporal/package.json ./sdks/typescript/temporal/
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build
# The bundle of the workflows, once for every worker that starts from this image.
RUN node bin/gate.mjs prepare workflows

FROM node:20-bookworm-slim AS modules
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
COPY sdks/typescript/agent-sdk/package.json ./sdks/typescript/agent-sdk/
COPY sdks/typescript/control-plane/package.json ./sdks/typescript/control-plane/
COPY sdks/typescript/temporal/package.json ./sdks/typescript/temporal/
# The links to the SDKs, which no process of Gate uses, would lead nowhere in the image.
RUN npm ci --omit=dev --ignore-scripts && rm -rf node_modules/@gate

FROM node:20-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=modules /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
# Kept under a digest of the built code, package.json, the lock file, the folder and Node: all the same here.
COPY --from=build --chown=node:node /app/.cache/workflows ./.cache/workflows
COPY --from=opa /out/opa /usr/local/bin/opa
COPY package.json package-lock.json ./
COPY bin ./bin
COPY policies ./policies
COPY docs/how-to/select-a-contract.md ./docs/how-to/select-a-contract.md
COPY personas ./personas
COPY qualification ./qualification
COPY demo/probes.json ./demo/probes.json
# Fresh volumes mounted here belong to the user below.
RUN mkdir -p /data /state && chown node:node /data /state
USER node
# The plain health port of the process this container runs. Liveness only: readiness is /readyz, for whoever routes to it.
ENV GATE_HEALTHCHECK_URL=""
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch(process.env.GATE_HEALTHCHECK_URL).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/bin/gate.mjs"]
CMD ["--help"]
