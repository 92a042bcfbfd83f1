import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { CallInput } from '../contracts/call.js';
import type { StagedRequest, VerdictEvidence } from '../domain/call/record.js';
import { stepsOf } from '../domain/call/sealed-record.js';
import { canonicalDigest, keepCanonical } from '../domain/crypto/digest.js';
import { createInspector } from '../domain/inspection/inspector.js';
import { foldVerdict } from '../domain/call/verdict.js';
import { shippedPath } from '../adapters/shipped.js';
import { ownCpuMs } from './child.js';
import { openWriterStore, type WriterStore } from './lite-writer-store.js';
import { press } from './load.js';
import { describeMachine, mainThreadCpuMs } from './machine.js';
import { writeReport } from './report.js';
import { compareSides, type Side } from './sides.js';
import { loadPolicySet } from '../adapters/policy/load-policy-set.js';
import { loadPersonas } from '../adapters/inspection/persona-files.js';

/** One request to the thread. */
export type AskedOfWriter = { readonly id: number; readonly request: StagedRequest } & (
  | { readonly what: 'begin'; readonly first: CallInput }
  | { readonly what: 'commit'; readonly first: VerdictEvidence }
  | { readonly what: 'close'; readonly first: null }
);

/**
 * What a thread that owns lite's file would take off the main one: the work of the file for a denied call, on the thread that asks and in one
 * of its own. Neither side serves HTTP, inspects or judges.
 */
export async function runLiteWriterBench({
  rounds,
  roundMs,
  say,
}: {
  readonly rounds: number;
  readonly roundMs: number;
  readonly say: (line: string) => void;
}): Promise<void> {
  const folder = mkdtempSync(join(process.env.GATE_BENCH_DIR ?? tmpdir(), 'gate-bench-lite-writer-'));
  const machine = describeMachine(folder);
  const callOf = await denials();
  const here = await openWriterStore(join(folder, 'here.db'));
  const thread = await inThread(join(folder, 'thread.db'));
  const sideOf = (name: string, store: WriterStore): Side<'deny'> => ({
    name,
    press: (_kind, concurrency, forMs) =>
      press({ concurrency, forMs, maxCalls: 10_000_000 }, async () => {
        const { evidence, request } = callOf();
        await store.begin(evidence.call, request);
        await store.commit(evidence, request);
        return 'stored';
      }),
    async cpuMs() {
      const main = mainThreadCpuMs();
      return { main, others: ownCpuMs() - main };
    },
  });
  try {
    const sides = [sideOf('thread', thread), sideOf('here', here)];
    const compared = await compareSides({ sides, kinds: ['deny'], rounds, roundMs, say });
    writeReport('lite-writer', {
      title: "The work of lite's file for a denied call, here and in a thread",
      machine,
      notes: [
        `${rounds} rounds of ${roundMs / 1000} s per side and concurrency, sides in turns; latencies in ms at concurrency 1, rates at 16.`,
        'Two requests to the thread per call, in groups: the request that is staged; the verdict with record, rows and commit.',
        'No HTTP, no inspection, no policy on either side. CPU in ms per call at 16: of the main thread, and of all others.',
      ],
      tables: { ratios: compared.ratios('thread', 'here'), rows: compared.rows },
    });
  } finally {
    await Promise.all([here.close(), thread.close()]);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function inThread(path: string): Promise<WriterStore> {
  const worker = new Worker(new URL('./lite-writer-thread.js', import.meta.url), { workerData: { path } });
  await once(worker, 'message');
  const waiting = new Map<number, () => void>();
  worker.on('message', (ids: readonly number[]) => {
    for (const id of ids) {
      waiting.get(id)?.();
      waiting.delete(id);
    }
  });
  worker.on('error', (error) => {
    throw error;
  });
  let group: AskedOfWriter[] = [];
  let ids = 0;
  const numbered = (asked: (id: number) => AskedOfWriter): Promise<void> =>
    new Promise((resolve) => {
      ids += 1;
      waiting.set(ids, resolve);
      if (group.push(asked(ids)) > 1) return;
      setImmediate(() => {
        worker.postMessage(group);
        group = [];
      });
    });
  const nothing: StagedRequest = { body: {}, callback_url: null };
  return {
    begin: (first, request) => numbered((id) => ({ id, what: 'begin', first, request })),
    commit: (first, request) => numbered((id) => ({ id, what: 'commit', first, request })),
    async close() {
      await numbered((id) => ({ id, what: 'close', first: null, request: nothing }));
      await worker.terminate();
    },
  };
}

/** Denied calls as the proxy, inspection and policy make them, each with an id of its own. */
async function denials() {
  const nowMs = Date.now();
  const correlation_id = randomUUID();
  const args = { path: 'reports/1.txt', lines: 40 };
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'delete_file', arguments: args } };
  const steps = Array.from({ length: 16 }, (_, index) =>
    stepsOf('read_file', undefined, nowMs - index, 'bench'),
  ).flat();
  const history = { last_tool: 'read_file', recent_sequence: steps };
  keepCanonical(history);
  const inspection = await createInspector({ personas: await loadPersonas() }).inspect({
    agent_id: 'bench',
    tenant: 'bench',
    jsonrpc: '2.0',
    method: 'tools/call',
    params: body.params,
    correlation_id,
    prior_requests: [],
  });
  const facts = {
    tool_type: 'delete_file',
    agent_history: history,
    intent_score: 0,
    agent_id: 'bench/bench',
    agent_kind: 'mcp',
    tenant: 'bench',
    correlation_id,
    method: 'tools/call',
    current_time: new Date(nowMs).toISOString(),
  };
  const policies = await loadPolicySet({ directory: shippedPath('policies') });
  const decision = policies.evaluate({ ...facts, arguments: args });
  const call: CallInput = {
    correlation_id,
    tenant: 'bench',
    agent: 'bench',
    agent_spiffe: `spiffe://gate.local/tenant/bench/agent/bench/instance/${randomUUID()}`,
    credential_fingerprint: 'a'.repeat(64),
    contract: 'gate.server-execution/v1',
    idempotency_id: correlation_id,
    method: 'tools/call',
    tool: 'delete_file',
    digest: canonicalDigest(body),
    mode: 'enforce',
    received_ms: nowMs,
    not_after_ms: nowMs + 3_600_000,
    ttl_secs: { auto: 600, standard: 600, strict: 600 },
    upstream_timeout_ms: 30_000,
    has_callback: false,
    recent_request_count: 0,
    velocity_limit: 0,
  };
  const evidence: VerdictEvidence = {
    call,
    verdict: foldVerdict(inspection, decision, 'enforce'),
    inspection,
    inspection_failure: null,
    decision,
    policy_failure: null,
    facts,
    params_sha256: 'b'.repeat(64),
    callback_url: null,
  };
  return () => ({
    evidence: { ...evidence, call: { ...call, correlation_id: randomUUID() } },
    request: { body, callback_url: null },
  });
}
