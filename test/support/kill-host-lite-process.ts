import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readLiteConfig } from '../../config/lite.js';
import type { JsonObject } from '../../contracts/json.js';
import type { PendingRequest } from '../../contracts/review.js';
import { openLedgerReadOnly, type ReadOnlyLedger } from '../../adapters/ledger/read-only.js';
import { keysBeside } from '../../lite/keys.js';
import { startLite } from '../../lite/serve.js';
import { type ActivityPorts, createActivities } from '../../workers/activities.js';
import {
  correlationIdFor,
  decisionBody,
  escalatedOf,
  type HostCommands,
  killable,
  type KillSwitch,
  killSwitch,
  quietLogger,
  serveHost,
  type Told,
  watched,
} from './kill-host.js';
import { PROBES_FILE } from './kill-host-tools.js';

const AGENT = 'agent-token-0123456789-0123456789-ab';
const OPERATOR = 'operator-token-0123456789-0123456789';

/**
 * The whole of lite as `gate lite` starts it, to be killed: its listener, tokens, file, keys, tools by URL and callbacks are the product's
 * own; scripted are only the judgements, and the points at which it dies. Commands go through its routes.
 */
serveHost(async (config) => {
  const script = { ...config.script };
  const probesFile = join(config.folder, 'probes.json');
  writeFileSync(probesFile, PROBES_FILE);
  const ledger = join(config.folder, 'gate-lite.db');
  let ports: ActivityPorts | null = null;
  let settledOnDisk: () => Promise<void> = () => Promise.resolve();
  let points: KillSwitch | null = null;

  const lite = await startLite({
    config: readLiteConfig({
      GATE_LITE_PORT: '0',
      GATE_LITE_LEDGER: ledger,
      GATE_LITE_AGENTS: `acme/support-bot:${AGENT}`,
      GATE_LITE_DECIDERS: `acme:${OPERATOR}`,
      GATE_LITE_UPSTREAM_URL: `${config.toolsUrl}/tool`,
      GATE_LITE_UPSTREAM_ADAPTER: 'raw-json',
      GATE_LITE_UPSTREAM_TIMEOUT_SECS: String(config.upstreamTimeoutMs / 1000),
      GATE_LITE_PENDING_TTL_SECS: String(config.ttlSecs),
      GATE_HIL_SLA_ESCALATE_FRACTION: config.escalateShares.join(',') || '0',
      GATE_LITE_VELOCITY_LIMIT: '0',
      GATE_LITE_CALLBACK_ALLOWLIST: `${config.toolsUrl}/callback`,
      GATE_LITE_CALLBACK_ALLOW_PRIVATE: new URL(config.toolsUrl).host,
      GATE_LITE_PROBES: probesFile,
    }),
    logger: quietLogger,
    callDeadlineMs: config.callDeadlineMs,
    beforeCommit: () => points?.commits(),
    compose(given, durable) {
      ports = given;
      settledOnDisk = durable;
      const here = killSwitch(config, durable);
      points = here;
      const { upstream } = given;
      return watched(
        createActivities(
          killable(
            {
              ...given,
              upstream: {
                ...upstream,
                async callTool(...asked) {
                  await here.at('callUpstream', 'claimed');
                  const outcome = await upstream.callTool(...asked);
                  await here.at('callUpstream', 'bytes sent');
                  return outcome;
                },
              },
            },
            script,
            here,
          ),
        ),
        here,
      );
    },
  });

  async function asked(
    method: string,
    path: string,
    token: string,
    headers: Record<string, string>,
    body?: object,
  ): Promise<Told> {
    const answer = await fetch(`${lite.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const replayed = answer.headers.get('x-gate-server-execution-replayed');
    if (answer.ok)
      return {
        status: answer.status,
        headers: replayed === null ? {} : { 'X-Gate-Server-Execution-Replayed': replayed },
        body: text,
      };
    const refused = JSON.parse(text) as { error: string; reasoning?: string; reason?: string };
    return { error: refused.error, message: refused.reasoning ?? refused.reason ?? '', status: answer.status };
  }

  async function reviewOf(key: string): Promise<PendingRequest | null> {
    const told = await asked('GET', '/pending?status=all&limit=500', OPERATOR, {});
    const rows = JSON.parse('body' in told ? told.body : '[]') as PendingRequest[];
    return rows.find((row) => row.correlation_id === correlationIdFor(key)) ?? null;
  }

  async function reading<Found>(look: (opened: ReadOnlyLedger) => Promise<Found>): Promise<Found> {
    const opened = openLedgerReadOnly(ledger, { sidecarKeys: keysBeside(ledger) });
    try {
      return await look(opened);
    } finally {
      await opened.close();
    }
  }

  const notHere = () => Promise.reject(new Error('only the host alone has this'));
  const commands: HostCommands = {
    call({ key, tool = 'read_file', arguments: given = {}, callback }) {
      const body: JsonObject = {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: tool, arguments: { ...given, key } },
      };
      return asked(
        'POST',
        '/mcp',
        AGENT,
        {
          'X-Gate-Server-Execution-Contract': 'gate.server-execution/v1',
          'X-Gate-Idempotency-Id': key,
          ...(callback && { 'X-Gate-Callback-URL': `${config.toolsUrl}/callback` }),
        },
        body,
      );
    },
    decide: ({ key, decision, requestId, change }) =>
      asked(
        'POST',
        `/decide/${correlationIdFor(key)}`,
        OPERATOR,
        { 'x-request-id': requestId },
        decisionBody(decision, change),
      ),
    async state({ key }) {
      const id = correlationIdFor(key);
      const record = await ports?.calls.find(id);
      const due =
        (await ports?.calls.rowsDue(Date.now() + 60_000, 10_000))?.some((due) => due.correlation_id === id) ?? false;
      // The rows are read from the file, which has what is committed.
      await settledOnDisk();
      const rows = await reading((opened) => opened.byCorrelation(id));
      const review = await reviewOf(key);
      return {
        state: record?.state ?? null,
        tier: record?.tier ?? null,
        decision: record?.decision?.status ?? null,
        pendingId: record?.pending_id ?? null,
        asked: false,
        deadlineMs: record?.deadline_ms ?? null,
        due,
        review: review && { status: review.status, decided_by: review.decided_by },
        escalated: escalatedOf(record, review),
        kinds: rows.map((row) => row.event_kind),
        verdictAuthorized: rows.find((row) => row.event_kind === 'proxy.verdict')?.authorized ?? null,
        error: record?.outcome?.error ?? null,
      };
    },
    script: (change) => Promise.resolve(void Object.assign(script, change)),
    verify: () =>
      reading(async (opened) => {
        const { valid, entries_checked } = await opened.verify();
        return { valid, entries: entries_checked };
      }),
    rowsDue: async () => (await ports?.calls.oldestRowsDueMs()) != null,
    ask: notHere,
    startAnew: notHere,
    sign: notHere,
    reconcile: notHere,
  };
  return commands;
});
