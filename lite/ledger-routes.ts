import type { FastifyReply, FastifyRequest } from 'fastify';
import { bearerOf } from '../api/plugins/bearer.js';
import type { Caller, ServiceApp } from '../api/plugins/service.js';
import { GATE_OWN_ROUTES, ROUTE_AUTHORITY, routeName } from '../contracts/route-authority.js';
import { GateError } from '../domain/errors.js';
import type { Access } from './access.js';
import { consoleCaller } from './console-caller.js';
import type { LedgerServiceOptions, LiteLedgerService } from './ledger-service.js';

export interface LedgerRoutesOptions extends Omit<LedgerServiceOptions, 'resolveCaller'> {
  readonly access: Access;
}

const ROWS = [...ROUTE_AUTHORITY, ...GATE_OWN_ROUTES].filter(({ service, built }) => service === 'ledger' && built);

const PATTERNS = ROWS.filter(({ method }) => method === 'GET').map(({ path }) => path.split('/'));

/** Whether a path, which may have `:names` in it, is one of the ledger's as well. */
export function isLedgers(path: string): boolean {
  if (path.startsWith('/audit/')) return true;
  const parts = path.split('/');
  return PATTERNS.some(
    (pattern) =>
      pattern.length === parts.length && pattern.every((part, at) => part.startsWith('{') || part === parts[at]),
  );
}

const WRITES = 'Lite alone writes the rows of its file, each in one transaction with the call it is of.';
const KEEPS = 'Lite reads this and does not change it; the full edition does, over the same file.';
const ERASES = 'Lite erases nothing; the full edition does, over the same file.';
const COPIES =
  'Lite copies no rows to another place. GET /export/iceberg with Accept: application/vnd.apache.parquet gives a window of them as a file.';

/** The routes of the ledger's service that lite does not have, and why. It answers every other one by the code of that service. */
export const ABSENT: Readonly<Record<string, string>> = {
  'POST /log': WRITES,
  'POST /log/batch': WRITES,
  'GET /log/held': WRITES,
  'GET /egress/rows': 'Lite streams no rows to sinks; GET /stream/audit sends them to whoever asks.',
  'POST /checkpoint/cosignatures': 'Lite knows no witnesses whose lines it could check.',
  'POST /cases': KEEPS,
  'POST /cases/{id}/attach': KEEPS,
  'POST /cases/{id}/classify': KEEPS,
  'POST /cases/{id}/status': KEEPS,
  'POST /cases/{id}/timeline': KEEPS,
  'POST /silence-allowlist': KEEPS,
  'DELETE /silence-allowlist/{agent_id}': KEEPS,
  'POST /finops/active-agents/adjustments': KEEPS,
  'POST /admin/namespaces/demo/cleanup': ERASES,
  'GET /admin/tenants/{tenant}/lifecycle': ERASES,
  'POST /admin/tenants/{tenant}/lifecycle': ERASES,
  'POST /admin/tenants/{tenant}/tombstone': ERASES,
  'GET /exports': COPIES,
  'POST /export': COPIES,
  'POST /export/regulatory': 'Lite signs no bundles; the full edition does, over the same file.',
};

const NOBODY =
  "The bearer token is missing or wrong. An operator's reads the ledger; an agent's checks the chain (GET /verify, /checkpoint, /proof/consistency) and nothing more.";

const ONE_TENANT = 'operator-of-one-tenant';
const ONLY_ALL_TENANTS =
  'This answers from the rows of all tenants, and this token is of an operator of one (GATE_LITE_DECIDERS). Without GATE_LITE_DECIDERS the decide token reads them; the commands that take --ledger read the file.';

/**
 * The ledger's routes in lite: its service, in this process and without a listener of its own, so that requests are checked, refused and
 * answered by the code of the full edition. It is loaded by the first request that asks for it. Returns how the console gets at it.
 */
export function ledgerRoutes(
  app: ServiceApp,
  { access, ...options }: LedgerRoutesOptions,
): { readonly forConsole: () => Promise<ServiceApp> } {
  const resolveCaller = (request: FastifyRequest) => callerOf(access, request);
  let opened: Promise<LiteLedgerService> | undefined;
  const reached = () =>
    (opened ??= import('./ledger-service.js')
      .then(({ openLedgerService }) => openLedgerService({ ...options, resolveCaller }))
      .catch((error: unknown) => {
        // The next request tries again.
        opened = undefined;
        throw error;
      }));
  /** What was opened, if anything was. */
  const open = () => opened?.catch(() => undefined);
  app.addHook('preClose', async () => (await open())?.stop());
  app.addHook('onClose', async () => (await open())?.close());
  // The service would call for a certificate, and leave what is public to everybody: behind it nobody comes without one.
  const knownOnly = (request: FastifyRequest) => {
    const caller = resolveCaller(request);
    if (caller === null) throw new GateError('unauthenticated', NOBODY);
    return caller;
  };
  const allTenantsOnly = (request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void) =>
    done(knownOnly(request).callerId === ONE_TENANT ? new GateError('capability_denied', ONLY_ALL_TENANTS) : undefined);
  const answered = async (request: FastifyRequest, reply: FastifyReply) => {
    knownOnly(request);
    const { app: service } = await reached();
    reply.hijack();
    service.routing(request.raw, reply.raw);
  };
  const absent = (why: string) => (request: FastifyRequest, _reply: FastifyReply, done: (error: Error) => void) => {
    knownOnly(request);
    done(new GateError('not_found', why));
  };
  const handler = () => {
    throw new Error('the service of the ledger answers');
  };
  for (const row of ROWS) {
    const why = ABSENT[routeName(row)];
    app.route({
      method: row.method,
      url: row.path.replaceAll('{', ':').replaceAll('}', ''),
      // Before anything of the request is read: the service reads all of it.
      onRequest: why !== undefined ? absent(why) : row.callers === 'public' ? answered : [allTenantsOnly, answered],
      handler,
    });
  }
  // What no table knows beside the rows is the service's to refuse.
  app.get('/audit/*', { onRequest: answered, handler });
  return { forConsole: async () => (await reached()).forConsole };
}

/** To be called when there is time for it: a load that fails, because no descriptor is left, fails in this process for good. */
export const loadLedgerReads = () => import('./ledger-service.js');

/**
 * An operator is to the ledger what the console is, and an agent is an agent. The console is trusted to name the tenant it asks for; an
 * operator of one tenant is not, stands in no row of the table, and reaches what is public.
 */
function callerOf(access: Access, request: FastifyRequest): Caller | null {
  const operator = access.operatorByToken(bearerOf(request) ?? '');
  if (operator === null) return access.agentOf(request);
  const { credential } = operator.principal('');
  const caller = consoleCaller(credential.slice(credential.lastIndexOf(':') + 1));
  return operator.tenant === null ? caller : { ...caller, callerId: ONE_TENANT };
}
