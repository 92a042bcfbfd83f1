import type { FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { ReadyInspector } from '../../domain/inspection/port.js';
import type { RequestScanner, ResponseScanner } from '../../domain/inspection/response-port.js';
import type { ModelStandings } from '../../domain/models/model-standing.js';
import type { Narrator } from '../../domain/models/narrator.js';
import type { DefinitionScanner } from '../../domain/tool-definitions/ports.js';
import type { ReadinessChecks } from '../plugins/health.js';
import type { Caller } from '../plugins/app.js';
import { createService, type Service, type TlsMaterial } from '../plugins/service.js';
import { observedInspector, observedScanner } from './metrics.js';
import { inspectRoutes } from './routes/inspect.js';
import { modelSnapshotRoutes } from './routes/model-snapshot.js';
import { narrationRoutes } from './routes/narration.js';
import { scanDefinitionsRoutes } from './routes/scan-definitions.js';
import { scanRequestRoutes } from './routes/scan-request.js';
import { scanResponseRoutes } from './routes/scan-response.js';

export interface BrainServiceOptions {
  readonly inspector: ReadyInspector;
  readonly scanner: ResponseScanner & RequestScanner & DefinitionScanner;
  readonly narrator: Narrator;
  readonly standings: ModelStandings;
  readonly logger: Logger;
  readonly registry: Registry;
  readonly trustDomain: string;
  readonly tls?: TlsMaterial;
  readonly resolveCaller?: (request: FastifyRequest) => Caller | null;
  readonly readiness?: ReadinessChecks;
}

/** Brain scores one request, and looks at what tools answer and at what is told of them. It keeps only a verdict cache and writes no row. */
export function createBrainService(options: BrainServiceOptions): Service {
  const service = createService({
    name: 'brain',
    governed: 'brain',
    logger: options.logger,
    registry: options.registry,
    trustDomain: options.trustDomain,
    readiness: { providers: () => options.inspector.ready(), ...options.readiness },
    ...(options.tls && { tls: { ...options.tls, clientCertificate: 'required' as const } }),
    ...(options.resolveCaller && { resolveCaller: options.resolveCaller }),
  });
  inspectRoutes(service.app, observedInspector(options.inspector, options.registry));
  modelSnapshotRoutes(service.app, options.inspector, options.standings);
  const scanner = observedScanner(options.scanner, options.registry);
  scanResponseRoutes(service.app, scanner);
  scanRequestRoutes(service.app, scanner);
  scanDefinitionsRoutes(service.app, scanner);
  narrationRoutes(service.app, options.narrator);
  return service;
}
