import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createSignInLinks, LINK_LIFE_MS } from '../../api/pages/sign-in-links.js';
import { commandLine } from '../support/command.js';
import { echoTools, type EchoTools, liteFolder, type LiteFixture, openLite } from '../support/lite.js';

let folder: string;
let tools: EchoTools;
let gate: LiteFixture | null = null;
const line = commandLine(() => folder);

beforeEach(async () => {
  folder = await liteFolder();
  tools = await echoTools();
});
afterEach(async () => {
  await line.stop();
  await gate?.close();
  gate = null;
  await tools.close();
  await rm(folder, { recursive: true, force: true });
});

const open = async (env: Record<string, string> = {}) => {
  gate = await openLite({ GATE_LITE_UPSTREAM_URL: tools.url, ...env }, { folder });
  return gate;
};
const tokenFile = () => join(folder, 'gate-lite.db.decide-token');

describe('lite without tokens: whoever asks does not decide', () => {
  it('makes a decide token at its first start, keeps it for the owner, and takes it again', async () => {
    const first = await open();
    const { token, file, fresh } = first.lite.ownDecideToken ?? {};
    expect({ file, fresh }).toEqual({ file: tokenFile(), fresh: true });
    expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(statSync(tokenFile()).mode & 0o777).toBe(0o600);
    await first.close();
    expect((await open()).lite.ownDecideToken).toEqual({ token, file: tokenFile(), fresh: false });
  });

  it.each([
    ['no token', {}],
    ['a wrong one', { authorization: 'Bearer not-the-token' }],
    ['the name of an operator', { 'x-gate-operator': 'operator:lite' }],
  ])('an agent that parked a call cannot decide it: %s', async (_what, headers) => {
    const { call, lite } = await open();
    const { body } = await call('wire_transfer', { arguments: { amount: 1_000 } });
    const ask = (method: string, path: string, sent?: object) =>
      fetch(`${lite.url}${path}`, {
        method,
        headers: { ...headers, ...(sent && { 'content-type': 'application/json' }) },
        ...(sent && { body: JSON.stringify(sent) }),
      });
    const claim = { decision: 'approve', decided_by: 'operator:cfo', tenant: '_legacy_unqualified' };
    for (const [path, sent] of [
      [`/decide/${body.pending_id as string}`, claim],
      [`/decide/${body.correlation_id as string}`, claim],
      [`/pending/${body.pending_id as string}/decide`, { decision: 'allow' }],
      ['/auth/links', undefined],
    ] as const)
      expect((await ask('POST', path, sent)).status).toBe(401);
    expect((await ask('GET', '/pending')).status).toBe(401);
    expect(tools.executed).toEqual([]);
  });

  it('records who the token says decided, whatever a body claims', async () => {
    const { call, send } = await open();
    const { body } = await call('wire_transfer');
    const decided = await send('POST', `/decide/${body.pending_id as string}`, {
      body: { decision: 'deny', decided_by: 'operator:cfo', approver_assertion: { subject: 'cfo' } },
    });
    expect(decided.body).toMatchObject({ status: 'denied', decided_by: 'operator:lite' });
    expect(JSON.stringify(decided.body)).not.toContain('cfo');
  });

  it('refuses to start over a token file that holds something else, and says what to do', async () => {
    writeFileSync(tokenFile(), 'hunter2\n');
    await expect(open()).rejects.toThrow(/holds no decide token: remove it and a new one is made/);
    rmSync(tokenFile());
    await open();
    expect(existsSync(tokenFile())).toBe(true);
  });

  it('makes none where settings name operators', async () => {
    const { lite } = await open({ GATE_LITE_DECIDE_TOKEN: 'operator-token-0123456789-0123456789' });
    expect([lite.ownDecideToken, existsSync(tokenFile())]).toEqual([null, false]);
  });

  it('tells agents that it is ready or not, and operators why', async () => {
    const { send, lite } = await open();
    const told = (await send('GET', '/readyz')).body;
    const checks = { ledger: 'ok', calls: 'ok', policy: 'ok', upstreams: 'ok' };
    expect(told).toEqual({ status: 'ready', mode: 'enforce', checks });
    const authorization = `Bearer ${lite.ownDecideToken?.token ?? ''}`;
    // Each check says a word about itself or nothing: what a store returned, its seal among it, is not for printing.
    const { details } = (await send('GET', '/readyz', { headers: { authorization } })).body as { details: object };
    expect(Object.entries(details).filter(([, detail]) => !['string', 'number'].includes(typeof detail))).toEqual([]);
    expect(details).not.toHaveProperty('ledger');
  });
});

describe('a link that signs in once', () => {
  const visit = (url: string, cookie = '') =>
    fetch(url, { redirect: 'manual', headers: cookie === '' ? {} : { cookie } });

  it('opens a session the first time, and nothing after that', async () => {
    const { lite, call } = await open();
    await call('wire_transfer');
    const link = lite.signInLink() ?? '';
    const first = await visit(link);
    expect([first.status, first.headers.get('location')]).toEqual([303, '/']);
    const cookie = first.headers.get('set-cookie')?.split(';')[0] ?? '';
    const page = await (await visit(`${lite.url}/`, cookie)).text();
    expect(page).toMatch(/Waiting <span class="count">1</);
    expect(page).toMatch(/<time [^>]*title="[^"]+ UTC"[^>]*>(now|\d+ s ago)/);

    const second = await visit(link);
    expect([second.status, second.headers.get('set-cookie')]).toEqual([401, null]);
    expect(await second.text()).toContain('This link was used already');
    expect((await visit(`${lite.url}/login?link=guess`)).status).toBe(401);
    expect((await visit(`${lite.url}/login?link=a&link=b`)).status).toBe(401);
  });

  it('is for ten minutes, for whom it was made, and the hundred newest', () => {
    let now = 0;
    const links = createSignInLinks(() => now);
    const operator = { tenant: 'acme', principal: () => ({}) as never };
    const [early, late] = [links.issue(operator), links.issue(operator)];
    now = LINK_LIFE_MS;
    expect(links.redeem(early)).toBe(operator);
    now += 1;
    expect(links.redeem(late)).toBeNull();
    const oldest = links.issue(operator);
    for (let more = 0; more < 100; more += 1) links.issue(operator);
    expect(links.redeem(oldest)).toBeNull();
  });
});

describe('the commands find the token by themselves', () => {
  it('decide a call, and print a link, in the folder of the ledger; an address elsewhere never gets it', async () => {
    const running = await line.lite(['--upstream', tools.url]);
    expect(running.out()).toMatch(/operators {2}decide token [\w-]{43}, made just now and kept in /);
    expect(running.out()).toMatch(/console {4}http:\/\/127\.0\.0\.1:\d+\/login\?link=[\w-]{43}/);
    const answer = await fetch(`${running.url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'X-Gate-Server-Execution-Contract': 'gate.server-execution/v1',
        'X-Gate-Idempotency-Id': crypto.randomUUID(),
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'wire_transfer', arguments: {} },
      }),
    });
    const { correlation_id: id } = (await answer.json()) as { correlation_id: string };
    const at = ['--endpoint', running.url];
    expect(await line.done(['pending', ...at])).toMatchObject({
      code: 0,
      out: expect.stringContaining('wire_transfer'),
    });
    const token = readFileSync(tokenFile(), 'utf8').trim();
    const wrong = await line.done(['decide', id, 'approve', ...at], { GATE_LITE_DECIDE_TOKEN: 'wrong' });
    expect(wrong.code).toBe(3);
    const elsewhere = await line.done(['pending', ...at], { GATE_LITE_LEDGER: join(folder, 'other.db') });
    expect(elsewhere).toMatchObject({ code: 3, out: expect.stringContaining('wants a decide token') });
    const link = await line.done(['lite', 'link', ...at]);
    expect(link).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/login\?link=[\w-]{43}\n/),
    });
    expect(await line.done(['decide', id, 'deny', ...at])).toMatchObject({
      code: 0,
      out: expect.stringContaining('by operator:lite'),
    });
    expect([wrong, elsewhere, link].map(({ out }) => out).join('\n')).not.toContain(token);
    const remote = await line.done(['pending', '--endpoint', 'http://gate.invalid:1']);
    expect(remote).toMatchObject({ code: 5 });
  }, 60_000);
});
