import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import type { LabLine } from '../../contracts/policy-studies.js';
import { SUGGESTIONS_LOOK_MS } from '../../contracts/policy-mining.js';
import { policiesOver } from './policies.js';
import { ASK_LIMITS } from './ask-limits.js';
import { type Neighbour, neighbourOf } from './neighbour.js';

const PROGRESS = { progress: { judged: 1, seq: 1, at: '2026-11-25T12:00:00.000Z' } };
const LIMITS = { readMs: 1_000, suggestionsMs: 2_000, changeMs: 3_000, quietMs: 50 };
const asked = { files: [], without: [], since: '2026-11-25T00:00:00Z' };

/** The lab of an engine that answers with these parts, and then is silent where it says so. */
function labOf(parts: readonly (string | Uint8Array)[], { status = 200, isSilent = false } = {}) {
  const requests: { readonly url: string; readonly headers: object; readonly signal: AbortSignal }[] = [];
  async function* body(signal: AbortSignal): AsyncGenerator<Uint8Array> {
    for (const part of parts) yield Buffer.from(part as string);
    if (isSilent) await once(signal, 'abort');
  }
  const never = () => Promise.reject(new Error('not asked here'));
  const left = new AbortController();
  const engine = Promise.resolve({
    url: 'https://policy.test',
    fetch: {
      stream: (url: string, request: { readonly headers: object; readonly signal: AbortSignal }) => {
        requests.push({ url, ...request });
        return Promise.resolve({ status, body: body(request.signal), text: () => Promise.resolve(parts.join('')) });
      },
    } as never,
  });
  const { lab } = policiesOver(neighbourOf('policy', engine, { tenant: 'acme', limits: LIMITS }), {
    by: (reason) => ({ reason, actor_sub: 'a', actor_idp: 'b' }),
    health: never,
    limits: LIMITS,
  });
  return { requests, lines: lab(asked, left.signal), left };
}
const all = async (lines: AsyncIterable<LabLine>): Promise<LabLine[]> => {
  const found: LabLine[] = [];
  for await (const line of lines) found.push(line);
  return found;
};

describe('a lab, as the console hears of it', () => {
  it('is of the person’s tenant, and comes line by line however it is cut', async () => {
    const text = `${JSON.stringify(PROGRESS)}\n${JSON.stringify({ error: { code: 'x', reason: 'ü' } })}\n`;
    const { lines, requests } = labOf(Array.from(Buffer.from(text), (byte) => Uint8Array.of(byte)));
    expect(await all(lines)).toEqual([PROGRESS, { error: { code: 'x', reason: 'ü' } }]);
    expect(requests).toMatchObject([
      { url: 'https://policy.test/policies/lab?tenant=acme', headers: { 'x-gate-tenant-scope': 'acme' } },
    ]);
  });

  it('ends at the engine where its reader leaves', async () => {
    const { lines, requests } = labOf([`${JSON.stringify(PROGRESS)}\n`], { isSilent: true });
    for await (const _ of lines) break;
    expect(requests[0]?.signal.aborted).toBe(true);
  });

  it('ends at the engine where its reader leaves while nothing comes', async () => {
    const { lines, requests, left } = labOf([`${JSON.stringify(PROGRESS)}\n`], { isSilent: true });
    for await (const _ of lines) {
      left.abort();
      expect(requests[0]?.signal.aborted).toBe(true);
      break;
    }
  });

  it('is given up where nothing comes any more', async () => {
    const { lines, requests } = labOf([`${JSON.stringify(PROGRESS)}\n`], { isSilent: true });
    await expect(all(lines)).rejects.toMatchObject({ code: 'console_neighbour_away' });
    expect(requests[0]?.signal.aborted).toBe(true);
  });

  it.each([
    ['a refusal', '{"error":"policy_lab_busy","reason":"later"}', 503, 'policy_lab_busy'],
    ['an answer that is not its own', '<html>', 502, 'console_neighbour_away'],
    ['a line that is no JSON', 'x\n', 200, 'console_neighbour_away'],
    ['a line of another kind', '{"found":1}\n', 200, 'console_neighbour_away'],
  ])('tells %s as what it is', async (_, text, status, code) => {
    await expect(all(labOf([text], { status }).lines)).rejects.toMatchObject({ code });
  });
});

describe('suggestions', () => {
  it('are waited for longer than the engine compares them, so that what it could not compare is shown as that', async () => {
    const asked: unknown[] = [];
    const never = () => Promise.reject(new Error('not asked here'));
    const engine: Neighbour = {
      ...neighbourOf('policy', undefined, { tenant: 'acme', limits: ASK_LIMITS }),
      ask: (_type, question, timeoutMs) => {
        asked.push([question, timeoutMs]);
        return Promise.resolve({ suggestions: [] } as never);
      },
    };
    const { suggestions } = policiesOver(engine, {
      by: (reason) => ({ reason, actor_sub: 'a', actor_idp: 'b' }),
      health: never,
      limits: ASK_LIMITS,
    });
    expect(await suggestions()).toEqual([]);
    expect(asked).toEqual([[{ method: 'GET', path: '/policies/suggestions' }, expect.any(Number)]]);
    const [[, waitedMs] = []] = asked as [unknown, number][];
    expect(waitedMs).toBeGreaterThan(SUGGESTIONS_LOOK_MS);
  });
});
