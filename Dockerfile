# The broker. TypeScript runs as it stands, so that the image holds what the repository holds; nothing in here needs a shell.
FROM node:24-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
RUN ["npm", "ci", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund"]

FROM node:24-slim
WORKDIR /app
# The one place that is written to. A volume that is mounted here takes over its owner and mode.
RUN ["node", "-e", "const fs = require('node:fs'); fs.mkdirSync('/data', { mode: 0o700 }); fs.chownSync('/data', 1000, 1000)"]
COPY --from=packages /app/node_modules ./node_modules
COPY package.json LICENSE ./
COPY src ./src
COPY openapi ./openapi
COPY actions ./actions
USER 1000:1000
ENV AVAL_DATA=/data AVAL_AGENTS=0.0.0.0:8080 AVAL_OPERATIONS=0.0.0.0:9090
EXPOSE 8080 9090
VOLUME ["/data"]
# A restarted broker looks up what it does not know; a busy one must not be killed for being slow to answer once.
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:9090/healthz').then(answer => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# What a call leaves behind is young when it is thrown away: with more room for it, it is gone through less often, for some memory.
ENTRYPOINT ["node", "--max-semi-space-size=32", "src/cli.ts"]
CMD ["serve"]
