import { beforeEach, describe, expect, it } from '@jest/globals';
import type { NewLedgerRow } from '../../../contracts/ledger.js';
import { sidecarSha256 } from '../../../domain/ledger/sidecar-digest.js';
import { ABOUT } from '../../../test/support/about-console.js';
import { consoleHere, consoleOverLedger } from '../../../test/support/console-over-ledger.js';
import { committed, testRow } from '../../../test/support/ledger.js';
import { linksIn, wordsIn } from '../../../test/support/html.js';

const CALL = '55555555-5555-4555-8555-555555555555';
const BUNDLE = { schema_version: 1, version: 'v1', hash_sha256: `sha256:${'1'.repeat(64)}`, policy_count: 3 };
const SAID = {
  allow: false,
  reasons: ['No spare money'],
  review_reasons: [],
  approval_tier: 'standard',
  policy_bundle: BUNDLE,
};
const NOW = { ...SAID, retention_class: null };
const INPUT = { tool_type: 'pay', method: 'tools/call', intent_score: 0.1, arguments: { password: 'hunter2' } };

const here = consoleHere();
let asked: unknown[];
beforeEach(() => {
  asked = [];
  here.page.policy = (input) => {
    // The page also reads which file each rule is in.
    if (input !== null) asked.push(input);
    return NOW;
  };
});
const judged = (input: object = INPUT, over: Partial<NewLedgerRow> = {}) =>
  here.gate.ledger.append([
    testRow({
      method: 'policy.evaluated',
      event_kind: 'policy.evaluated',
      policy_decision: SAID,
      ...committed(input),
      ...over,
    }),
  ]);
const again = async (as: 'acme' | 'globex' = 'acme') =>
  wordsIn((await here.page.get(`/audit/correlation/${CALL}?judged=again`, { as })).text);

describe('a call that is judged again', () => {
  it('is offered, and asked only then', async () => {
    await judged();
    const links = linksIn((await here.page.get(`/audit/correlation/${CALL}`)).text);
    expect(links.map(({ href }) => href)).toContain(`/audit/correlation/${CALL}?judged=again#judged-again`);
    expect(asked).toEqual([]);
  });

  it('is judged by the rules of now on the input as it was, which no page shows', async () => {
    await judged();
    here.page.role = 'viewer';
    const words = await again();
    expect(asked).toEqual([INPUT]);
    expect(words).toContain('the same They say of it what was said then; the rules are the same.');
    expect(words).toContain('No spare money');
    expect(words).not.toContain('hunter2');
  });

  it('is told to be different, with both', async () => {
    await judged();
    here.page.policy = () => ({
      ...NOW,
      allow: true,
      reasons: [],
      policy_bundle: { ...BUNDLE, hash_sha256: `sha256:${'2'.repeat(64)}` },
    });
    const words = await again();
    expect(words).toContain(
      'different They say something else of it than was said then; the rules have changed since.',
    );
    expect(words).toMatch(/Allowed no yes .*No spare money nothing/);
  });

  it('counts only the evaluation that was made, not one that failed later', async () => {
    await judged();
    await here.gate.ledger.append([
      testRow({ method: 'policy.evaluated', event_kind: 'policy.evaluated', policy_decision: { available: false } }),
    ]);
    expect(await again()).toContain('the same');
  });

  it('is not, where it is a batch, where its input is gone, and where policy judged none', async () => {
    await judged({ ...INPUT, method: 'gate/tools.batch' });
    expect(await again()).toContain('A batch is not judged again here');
    await judged(INPUT, { payload_sha256: null, payload_canonical_json: null });
    expect(await again()).toContain('Its input was purged');
    expect(asked).toEqual([]);
  });

  it('of another tenant is none, and its input is not read', async () => {
    await judged(INPUT, { tenant: 'globex' });
    expect((await here.page.get(`/audit/correlation/${CALL}?judged=again`)).status).toBe(404);
    expect(await here.gate.call(`GET /audit/correlation/${CALL}/policy-input?tenant=acme`)).toMatchObject({
      status: 200,
      body: { seq: null, input: null, decision: null, request: null, verdict: null, inspection: null },
    });
    expect(asked).toEqual([]);
    expect(await again('globex')).toContain('the same');
  });

  it('comes with what the verdict and inspection said, and with its request where that is a batch', async () => {
    const request = JSON.stringify({ method: 'gate/tools.batch', params: { calls: [] } });
    const verdict = (said: object, payload: string) =>
      judged(
        {},
        {
          method: 'proxy.verdict',
          event_kind: 'proxy.verdict',
          policy_decision: said as never,
          payload_sha256: sidecarSha256(payload),
          payload_canonical_json: payload,
        },
      );
    const told = async () => (await here.gate.call(`GET /audit/correlation/${CALL}/policy-input?tenant=acme`)).body;
    await judged();
    await verdict({ tier: 'red' }, request);
    // The call came again, too fast: that is no verdict of what was judged.
    await verdict({ outcome: 'rate_limited' }, request);
    await here.gate.ledger.append([
      testRow({
        method: 'brain.inspection',
        event_kind: 'brain.inspection',
        authorized: true,
        reasoning: 'nothing found',
        policy_decision: { available: true },
      }),
    ]);
    const inspection = { available: true, authorized: true, reasoning: 'nothing found' };
    expect(await told()).toMatchObject({ input: INPUT, verdict: { tier: 'red' }, inspection, request: null });
    await judged({ ...INPUT, method: 'gate/tools.batch' });
    expect(await told()).toMatchObject({ request: JSON.parse(request) });
  });

  it('is told as not to be known while the policy engine is away, beside the rest', async () => {
    await judged();
    here.page.policy = null;
    expect(await again()).toMatch(/The policy engine is away: it answered 503.*What happened/);
  });

  it('has its input given to the console alone', async () => {
    await judged();
    for (const as of ['service-proxy', 'service-deep-review', 'agent-workload'])
      expect((await here.gate.call(`GET /audit/correlation/${CALL}/policy-input`, undefined, { as })).status).toBe(403);
  });
});

describe('the link into the engine’s pages', () => {
  it('stands where their address is set, and nowhere else', async () => {
    await judged();
    expect((await here.page.get(`/audit/correlation/${CALL}`)).text).not.toContain('engine');
    const workflowPages = 'http://127.0.0.1:8234/namespaces/gate/workflows/';
    const linked = consoleOverLedger(() => here.gate, Date.now, { ...ABOUT, workflowPages });
    expect((await linked.get(`/audit/correlation/${CALL}`)).text).toContain(
      `<a href="${workflowPages}${CALL}" rel="noreferrer">`,
    );
    await linked.close();
  });
});
