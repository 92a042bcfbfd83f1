import type { FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Logger } from 'pino';
import type { GateError } from '../../domain/errors.js';
import type { StateNamespace } from '../../contracts/ledger.js';

/** Who asks: the peer of a connection by its verified certificate, or an agent by its token. */
export interface Caller {
  readonly kind: 'agent' | 'service';
  readonly spiffe: string;
  /** Caller id of the route authority table: `service-<name>` or `agent-workload`. */
  readonly callerId: string;
  /** SHA-256 of the leaf certificate's DER, or of what names the token; 64 hex digits. */
  readonly fingerprint: string;
  readonly tenant?: string;
  readonly agent?: string;
  /** When the certificate or the token that an agent came with counts no more: a stream ends then. Absent for a service. */
  readonly validToMs?: number;
  /** The certificate of a service is good for its first certificate of identity, and for nothing else. */
  readonly bootstrap?: boolean;
  /** The names by which a service is reached, of its certificate. */
  readonly hosts?: readonly string[];
  /** The namespace of the rows its calls make; `operator` when absent. */
  readonly namespace?: StateNamespace;
}

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null;
    /** Why nobody is known by the connection of the request, where that is to be told; `null` for who has a good certificate. */
    certificateFault: GateError | null;
    correlationId: string;
  }
}

export type ServiceApp = FastifyInstance<
  import('node:http').Server | import('node:https').Server,
  import('node:http').IncomingMessage,
  import('node:http').ServerResponse,
  Logger,
  ZodTypeProvider
>;
