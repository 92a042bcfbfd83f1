import { afterEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { GateError } from '../../../domain/errors.js';
import { noModels } from '../../../domain/models/model-standing.js';
import type { Narrator } from '../../../domain/models/narrator.js';
import { createInspector } from '../../../domain/inspection/inspector.js';
import { noPersonas } from '../../../domain/inspection/personas.js';
import type { Caller } from '../../plugins/app.js';
import type { Service } from '../../plugins/service.js';
import { createBrainService } from '../app.js';

const callerNamed = (name: string): Caller => ({
  kind: 'service',
  callerId: `service-${name}`,
  spiffe: `spiffe://gate.local/service/${name}`,
  fingerprint: 'ab'.repeat(32),
});
const unused = () => Promise.reject(new Error('unused'));
const said: object[] = [];
const writing: Narrator = {
  async explainPattern(question) {
    said.push(question);
    return { one_liner: 'Lets small transfers pass.', rationale: 'Many were approved.', model: 'a:b' };
  },
  async narrateDecision(question) {
    said.push(question);
    return { incident_summary: 'It was denied.', model: 'a:b' };
  },
};

let service: Service | undefined;
afterEach(async () => {
  await service?.app.close();
  said.length = 0;
});
function ask(url: string, payload: object, { as, narrator = writing }: { as: string; narrator?: Narrator }) {
  service = createBrainService({
    inspector: createInspector({ personas: noPersonas }),
    scanner: { scanResponse: unused, scanRequest: unused, scanDefinitions: unused, scanToolName: unused },
    narrator,
    standings: noModels,
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    trustDomain: 'gate.local',
    resolveCaller: () => callerNamed(as),
  });
  return service.app.inject({ method: 'POST', url, payload });
}
const PATTERN = { kind: 'approved_calls', tool_type: 'pay', threshold: {}, evidence_count: 3 };
const DECISION = { verdict: 'deny', risk_summary: 'moves money' };
const ROUTES = [
  ['/explain-pattern', PATTERN, 'policy-engine', 'console'],
  ['/narrate-decision', DECISION, 'console', 'policy-engine'],
] as const;

describe.each(ROUTES)('POST %s', (url, body, caller, other) => {
  it('says a model’s words', async () => {
    const answer = await ask(url, body, { as: caller });
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toMatchObject({ model: 'a:b' });
    expect(said).toEqual([body]);
  });

  it.each([other, 'proxy', 'ledger'])('is for one caller alone, and not for %s', async (name) => {
    const answer = await ask(url, body, { as: name });
    expect([answer.statusCode, answer.json().error]).toEqual([403, 'capability_denied']);
    expect(said).toEqual([]);
  });

  it('refuses a body of more than 16 KiB', async () => {
    const answer = await ask(url, { ...body, kind: 'x'.repeat(17_000), risk_summary: 'x' }, { as: caller });
    expect(answer.statusCode).toBe(413);
  });

  it.each([{ agent_id: 'bot' }, { correlation_id: 'x' }, { arguments: {} }])('takes sums alone: %j', async (more) => {
    const answer = await ask(url, { ...body, ...more }, { as: caller });
    expect([answer.statusCode, answer.json().error]).toEqual([400, 'invalid_request']);
    expect(said).toEqual([]);
  });

  it('says when to ask again', async () => {
    const busy = () => Promise.reject(new GateError('rate_limited', 'wait', { fields: { retry_after_secs: 7 } }));
    const answer = await ask(url, body, { as: caller, narrator: { explainPattern: busy, narrateDecision: busy } });
    expect([answer.statusCode, answer.json().retry_after_secs]).toEqual([429, 7]);
  });
});

describe('what is refused', () => {
  it.each([
    { ...PATTERN, kind: '' },
    { ...PATTERN, kind: 'x'.repeat(65) },
    { ...PATTERN, tool_type: 'x'.repeat(129) },
    { ...PATTERN, threshold: { a: 'x'.repeat(4_096) } },
    { ...PATTERN, evidence_count: -1 },
    { ...PATTERN, evidence_count: 1.5 },
  ])('of a rule: %#', async (body) => {
    expect((await ask('/explain-pattern', body, { as: 'policy-engine' })).statusCode).toBe(400);
  });
  it.each([
    { ...DECISION, verdict: 'allow' },
    { ...DECISION, risk_summary: 'x'.repeat(501) },
    { ...DECISION, decision_reason: 'x'.repeat(301) },
    { ...DECISION, sandbox_severity: 'x'.repeat(65) },
    { ...DECISION, sandbox_targets: Array.from({ length: 13 }, () => 'x') },
    { ...DECISION, sandbox_targets: ['x'.repeat(257)] },
  ])('of a decision: %#', async (body) => {
    expect((await ask('/narrate-decision', body, { as: 'console' })).statusCode).toBe(400);
  });
});
