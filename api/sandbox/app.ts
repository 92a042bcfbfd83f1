import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Sandbox } from '../../domain/sandbox/port.js';
import type { Caller } from '../plugins/app.js';
import type { ReadinessChecks } from '../plugins/health.js';
import { createService, type Service, type TlsMaterial } from '../plugins/service.js';
import { analyzeRoutes } from './routes/analyze.js';

export interface SandboxServiceOptions {
  readonly sandbox: Sandbox;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly trustDomain: string;
  readonly tls?: TlsMaterial;
  readonly resolveCaller?: (request: FastifyRequest) => Caller | null;
  readonly readiness?: ReadinessChecks;
}

/** The sandbox: one pure function over one request. It holds no state and writes no row. */
export function createSandboxService(options: SandboxServiceOptions): Service {
  const service = createService({
    name: 'sandbox',
    governed: 'sandbox',
    logger: options.logger,
    registry: options.registry,
    trustDomain: options.trustDomain,
    readiness: { analyzer: () => answers(options.sandbox), ...options.readiness },
    ...(options.tls && { tls: { ...options.tls, clientCertificate: 'required' as const } }),
    ...(options.resolveCaller && { resolveCaller: options.resolveCaller }),
  });
  analyzeRoutes(service.app, options.sandbox);
  return service;
}

/** A call whose report everybody knows. */
async function answers(sandbox: Sandbox): Promise<void> {
  const params = { name: 'delete_file', arguments: { path: 'a' } };
  const { severity } = await sandbox.analyze({ method: 'tools/call', params });
  if (severity !== 'destructive') throw new Error(`a deletion of a file is reported as ${severity}`);
}
