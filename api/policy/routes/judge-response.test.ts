import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pino from 'pino';
import { Registry } from 'prom-client';
import { createPolicyClient } from '../../../activities/clients/policy-client.js';
import type { ServiceFetch } from '../../../activities/clients/service-client.js';
import { loadPolicySet } from '../../../adapters/policy/load-policy-set.js';
import { readersOf } from '../../../adapters/policy/argument-readers.js';
import { shippedPolicyDirectory } from '../../../adapters/policy/policy-sources.js';
import { responseDecision } from '../../../contracts/response-scan.js';
import { createPolicySet, type PolicySet } from '../../../domain/policy/policy-set.js';
import type { Service } from '../../plugins/service.js';
import { createPolicyService } from '../app.js';

let policies: PolicySet;
let service: Service;
let callerId: string;
beforeAll(async () => {
  policies = await loadPolicySet({ directory: shippedPolicyDirectory() });
});
const start = (set: PolicySet): void => {
  service = createPolicyService({
    policies: set,
    registry: new Registry(),
    logger: pino({ level: 'silent' }),
    trustDomain: 'gate.local',
    resolveCaller: () => ({
      kind: 'service',
      spiffe: `spiffe://gate.local/${callerId.replace('-', '/')}`,
      callerId,
      fingerprint: 'f'.repeat(64),
    }),
  });
};
beforeEach(() => {
  callerId = 'service-proxy';
  start(policies);
});
afterEach(() => service.close());
const ask = (payload: object) => service.app.inject({ method: 'POST', url: '/evaluate-egress', payload });

describe('POST /evaluate-egress', () => {
  it('says what is done about each class, and about every other one, under which rules', async () => {
    const reply = await ask({ entities: ['PROMPT_INJECTION', 'SUSPECTED_INJECTION', 'EMAIL', 'SSN', 'PASSPORT'] });
    expect(reply.statusCode).toBe(200);
    expect(responseDecision.parse(reply.json())).toEqual({
      actions: {
        PROMPT_INJECTION: 'sanitize',
        SUSPECTED_INJECTION: 'mark',
        EMAIL: 'allow',
        SSN: 'sanitize',
        PASSPORT: 'deny',
      },
      default_action: 'deny',
      policy_bundle: policies.bundle,
    });
  });

  it.each([
    ['no classes', {}],
    ['classes that are no texts', { entities: [7] }],
    ['more classes than there are', { entities: Array.from({ length: 257 }, (_, at) => `T${at}`) }],
  ])('refuses %s', async (_what, payload) => {
    expect((await ask(payload)).json()).toMatchObject({ error: 'invalid_request' });
  });

  it('lets the console and the proxy ask, and nobody else', async () => {
    for (const [caller, status] of [
      ['service-console', 200],
      ['service-proxy', 200],
      ['service-brain', 403],
    ] as const) {
      callerId = caller;
      expect([caller, (await ask({ entities: [] })).statusCode]).toEqual([caller, status]);
    }
  });

  it('is a deny for everything where the data of an earlier Gate says nothing of answers', async () => {
    const { responses: _, ...gate } = policies.material.data.gate;
    const earlier = createPolicySet({
      ...policies.material,
      ...(await readersOf(policies.material.data)),
      data: { gate },
    });
    expect(earlier.judgeResponse({ entities: ['EMAIL'] })).toMatchObject({
      actions: { EMAIL: 'deny' },
      default_action: 'deny',
    });
  });

  it('has other actions for a tool that the data names', async () => {
    const { gate } = policies.material.data;
    const responses = {
      default_action: 'deny' as const,
      entity_actions: { SSN: 'sanitize' as const },
      tool_actions: { get_person: { SSN: 'allow' as const } },
    };
    const set = createPolicySet({
      ...policies.material,
      ...(await readersOf(policies.material.data)),
      data: { gate: { ...gate, responses } },
    });
    expect(set.judgeResponse({ entities: ['SSN'], tool_type: 'get_person' }).actions).toEqual({ SSN: 'allow' });
    expect(set.judgeResponse({ entities: ['SSN'], tool_type: 'get_page' }).actions).toEqual({ SSN: 'sanitize' });
  });

  it('answers its client, which throws where there is no decision', async () => {
    let status = 0;
    const fetch: ServiceFetch = async (url, { headers = {}, body = '' }) => {
      const reply = await service.app.inject({ method: 'POST', url: new URL(url).pathname, headers, payload: body });
      return { status: status || reply.statusCode, text: () => Promise.resolve(reply.body) };
    };
    const client = createPolicyClient({ url: 'https://policy.test', fetch });
    expect(await client.judgeResponse({ entities: ['EMAIL'] })).toMatchObject({ actions: { EMAIL: 'allow' } });
    status = 502;
    await expect(client.judgeResponse({ entities: ['EMAIL'] })).rejects.toMatchObject({ code: 'policy_unavailable' });
  });
});
