import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { batchRequest } from '../test/support/batch-request.js';
import { callInput } from '../test/support/call-input.js';
import { eventually } from '../test/support/waiting.js';

import type { JsonObject } from '../contracts/json.js';
import { openCallStore } from '../adapters/call/call-store.js';
import { keyRing } from '../domain/crypto/key-ring.js';
import { createInspector } from '../domain/inspection/inspector.js';
import { noPersonas } from '../domain/inspection/personas.js';
import { createLocalEvaluator } from '../adapters/policy/local-evaluator.js';
import { shippedPolicyDirectory } from '../adapters/policy/policy-sources.js';
import { noToolClasses } from '../domain/tool-classes/port.js';
import { createRecordActivities } from './call-record.js';
import { createInspectionActivities } from './inspection.js';
import { openedCalls } from './opened-call.js';
import { createPolicyActivities } from './policy.js';
import type { CallStore } from '../domain/call/ports.js';
import { loadPolicySet } from '../adapters/policy/load-policy-set.js';

const KILL_CHAIN = 'Violation: kill chain: a sensitive read was followed by an external egress tool.';

let folder: string;
let calls: CallStore;
let judge: (agent: string, tools: readonly string[], batch?: boolean) => Promise<readonly string[]>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gate-batch-'));
  const keys = keyRing(new Map([['k', Buffer.alloc(32, 'k')]]));
  calls = await openCallStore({ target: { file: join(folder, 'calls.db') }, keys });
  const policies = createLocalEvaluator(await loadPolicySet({ directory: shippedPolicyDirectory() }));
  const opened = openedCalls(calls);
  const { evaluate } = createPolicyActivities({ calls, opened, policies, tools: noToolClasses('demo') });
  const { inspect } = createInspectionActivities({
    calls,
    opened,
    inspector: createInspector({ personas: noPersonas }),
  });
  const { commitVerdict } = createRecordActivities({ calls });
  judge = async (agent, tools, batch = true) => {
    const siblings = tools.map((name, index) => ({ id: `c${index}`, name, arguments: {} }));
    const body: JsonObject = batch
      ? batchRequest(siblings)
      : { method: 'tools/call', params: { name: tools[0] ?? '', arguments: {} } };
    const call = callInput(Date.now(), {
      agent,
      agent_spiffe: `spiffe://gate.local/tenant/acme/agent/${agent}`,
      contract: 'gate.decision/v1',
      method: body['method'] as string,
      tool: batch ? 'gate/tools.batch' : (tools[0] ?? ''),
      not_after_ms: Date.now() + 60_000,
    });
    await calls.admit(call, { body, callback_url: null }, { limit: 0, windowMs: 60_000 });
    const inspected = await inspect(call);
    // On a crowded machine the first evaluation may take longer than a call would wait for it.
    const evaluated = await eventually('policy answers', async () => {
      const answer = await evaluate(call, inspected);
      return answer.decision && answer;
    });
    await commitVerdict(call, inspected, evaluated);
    if (!inspected.available) throw new Error(inspected.reason);
    const said = inspected.inspection.authorized ? [] : [inspected.inspection.reason];
    return [...said, ...(evaluated.decision?.reasons ?? [])];
  };
}, 60_000);
afterAll(async () => {
  await calls.close();
  await rm(folder, { recursive: true, force: true });
});

describe('the calls of a batch are judged in their order', () => {
  it('finds the kill chain within one batch, and only in the order that makes it one', async () => {
    expect(await judge('within', ['customer_db_read', 'list_files', 'http_post'])).toContain(KILL_CHAIN);
    expect(await judge('reversed', ['http_post', 'list_files', 'customer_db_read'])).not.toContain(KILL_CHAIN);
  });

  it('finds the kill chain between a batch and what comes after it', async () => {
    expect(await judge('after', ['list_files', 'customer_db_read'])).toEqual([]);
    expect(await judge('after', ['http_post'], false)).toContain(KILL_CHAIN);
    expect(await judge('after', ['list_files', 'http_post'])).toContain(KILL_CHAIN);
  });

  it.each([16, 17, 100])('finds the kill chain behind %s harmless calls', async (count) => {
    const harmless = Array.from({ length: count }, () => 'list_files');
    expect(await judge(`long ${count}`, ['customer_db_read', ...harmless, 'http_post'])).toContain(KILL_CHAIN);
    expect(await judge(`reversed ${count}`, ['http_post', ...harmless, 'customer_db_read'])).not.toContain(KILL_CHAIN);

    expect(await judge(`apart ${count}`, ['customer_db_read'], false)).toEqual([]);
    for (const tool of harmless) expect(await judge(`apart ${count}`, [tool], false)).toEqual([]);
    expect(await judge(`apart ${count}`, ['http_post'], false)).toContain(KILL_CHAIN);

    expect(await judge(`batches ${count}`, ['list_files', 'customer_db_read', ...harmless])).toEqual([]);
    expect(await judge(`batches ${count}`, harmless)).toEqual([]);
    expect(await judge(`batches ${count}`, [...harmless, 'http_post'])).toContain(KILL_CHAIN);
  });

  it('finds the far-reaching tool behind reads, within one batch and after it', async () => {
    const reads = ['list_files', 'read_file', 'get_report'];
    const escalated = expect.arrayContaining([expect.stringMatching(/^BLOCK: sequence_escalation/)]);
    expect(await judge('reads', [...reads, 'bulk_export'])).toEqual(escalated);
    expect(await judge('reads first', reads)).toEqual([]);
    expect(await judge('reads first', ['bulk_export'], false)).toEqual(escalated);
  });

  it('says of a batch what it says of the same calls one after the other', async () => {
    const tools = ['list_files', 'customer_db_read', 'slack_post', 'list_files', 'upload_file'];
    const single: string[] = [];
    for (const tool of tools) single.push(...(await judge('single', [tool], false)));
    expect(new Set(await judge('batch', tools))).toEqual(new Set(single));
  });
});
