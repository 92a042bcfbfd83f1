import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { issuedGrant, type GrantRecord, type IssuedGrant } from '../../contracts/grants.js';
import { issuedSvid } from '../../contracts/identity.js';
import { exchangedToken } from '../../contracts/token-exchange.js';
import { uuidFromDigest } from '../../domain/crypto/digest.js';
import { type AgentClient, createHttp, type Http } from '../support/agent.js';
import { certificateRequest } from '../support/certificate-request.js';
import { type CommandLine, commandLine } from '../support/command.js';
import { idTokenOf } from '../support/id-token.js';
import { type OpenIdProvider, startOpenIdProvider } from '../support/openid-provider.js';
import { STACK_START_LIMIT_MS, startStack, type TestStack } from '../support/stack.js';
import { eventually } from '../support/waiting.js';

const CLIENT = { id: 'delegations', secret: 'a-secret-of-the-tests', consoleUrl: 'https://console.example' };
const NAME = 'delegate-bot';

let provider: OpenIdProvider;
let folder: string;
/** The file of the issuers whose people may delegate. */
let issuers: string;
let gate: TestStack;
let command: CommandLine;
/** An agent with a certificate of identity. */
let bot: CertifiedAgent;

interface CertifiedAgent extends AgentClient {
  readonly credential: { readonly cert: string; readonly key: string };
}

const typedAt = async (stack: TestStack, ...args: string[]): Promise<string> => {
  const { code, out } = await command.done(args, { GATE_STATE_DIR: stack.stateDir });
  expect([code, out]).toEqual([0, out]);
  return out;
};
const cli = (...args: string[]) => typedAt(gate, ...args);
const delegated = (asked: object, to: AgentClient = bot) =>
  idTokenOf(provider, CLIENT, randomUUID()).then((token) =>
    to.request('POST', '/grant', { body: { id_token: token, scope: [], ...asked } }),
  );
const granted = async (asked: object, to: AgentClient = bot): Promise<IssuedGrant> => {
  const reply = await delegated(asked, to);
  expect([reply.status, reply.text]).toEqual([200, reply.text]);
  return issuedGrant.parse(reply.body);
};
const read = (file: string) => readFileSync(file, 'utf8');
/** Identity, asked by whoever has these. */
const identityAs = ({ development: { identity, proxy } }: TestStack, credential: CertifiedAgent['credential']): Http =>
  createHttp(identity.url, { ca: read(proxy.ca), ...credential });
/** The agent by its certificate and key. */
const certifiedAgent = (stack: TestStack, credential: CertifiedAgent['credential']): CertifiedAgent => ({
  ...stack.stranger(credential),
  credential,
});
/** An agent whose certificate identity gave it for its token. */
async function enrolled(stack: TestStack): Promise<CertifiedAgent> {
  const { cert, key } = stack.development.console_workload;
  const identity = identityAs(stack, { cert: read(cert), key: read(key) });
  try {
    const tokenFile = join(stack.stateDir, 'token-of-a-test');
    await typedAt(stack, 'agents', 'enrol', NAME, '--token-file', tokenFile);
    const { pem, keyPem } = await certificateRequest();
    const certified = await identity.request('POST', '/enrollments/svid', {
      headers: { authorization: `Bearer ${read(tokenFile).trim()}` },
      body: { csr_pem: pem },
    });
    return certifiedAgent(stack, { cert: issuedSvid.parse(certified.body).cert_pem, key: keyPem });
  } finally {
    await identity.close();
  }
}
const withGrant = ({ grant }: Pick<IssuedGrant, 'grant'>) => ({ headers: { 'x-gate-grant': grant } });
const seen = (reply: Awaited<ReturnType<AgentClient['call']>>) => [reply.status, reply.body['error']];
const listed = async (): Promise<readonly GrantRecord[]> =>
  JSON.parse(await cli('grants', '--agent', NAME, '--all', '--json')) as GrantRecord[];

beforeAll(async () => {
  provider = await startOpenIdProvider(CLIENT);
  provider.person = { sub: 'ada', claims: { amr: ['pwd', 'otp'] } };
  folder = mkdtempSync(join(tmpdir(), 'gate-grants-'));
  issuers = join(folder, 'issuers.json');
  const issuer = { tenant: 'acme', name: 'corp', issuer: provider.issuer, audience: CLIENT.id };
  writeFileSync(issuers, JSON.stringify({ issuers: [issuer] }));
  gate = await startStack({ env: { GATE_IDENTITY_OIDC_ISSUERS_FILE: issuers } });
  command = commandLine(() => gate.stateDir);
  bot = await enrolled(gate);
}, STACK_START_LIMIT_MS);
afterAll(async () => {
  await command?.stop();
  await gate?.stop();
  await provider?.close();
  rmSync(folder, { recursive: true, force: true });
}, 150_000);

describe('an agent that asks on behalf of a person, in the full edition', () => {
  it('is granted nothing before somebody said what may be delegated to it', async () => {
    expect(seen(await delegated({ scope: ['tool:list_files'] }))).toEqual([403, 'scope_outside_envelope']);
    const said = await cli(
      'agents',
      'widen',
      NAME,
      '--scope',
      'tool:list_files',
      '--scope',
      'tool:get_balance',
      '--yellow',
      'yellow:get_balance',
      '--yellow',
      'yellow:wire_transfer',
      '--reason',
      'its task',
    );
    expect(said).toContain('people may delegate to acme/delegate-bot: tool:get_balance, tool:list_files, yellow:');
    expect(seen(await delegated({ scope: ['tool:delete_file'] }))).toEqual([403, 'scope_outside_envelope']);
    expect(seen(await delegated({ id_token: 'x.y.z', scope: ['tool:list_files'] }))).toEqual([401, 'invalid_token']);
    expect(seen(await delegated({ scope: ['tool:list_files'], agent_spiffe: 'x' }))).toEqual([400, 'invalid_request']);
  }, 120_000);

  it('calls what was delegated, and nothing else, and its row says on whose behalf', async () => {
    const grant = await granted({ scope: ['tool:list_files'] });
    const allowed = await bot.call('list_files', {}, withGrant(grant));
    expect(allowed.status).toBe(200);
    const [row] = await gate.rows(allowed.correlationId, (kinds) => kinds.includes('upstream.outcome'));
    expect(row).toMatchObject({
      event_kind: 'proxy.verdict',
      policy_decision: {
        delegation: { jti: grant.jti, human_sub: 'user:ada', idp: 'corp', scope: ['tool:list_files'], max_uses: null },
      },
    });
    const before = (await gate.tools()).counts['get_balance'] ?? 0;
    const refused = await bot.call('get_balance', { account: 'operating' }, withGrant(grant));
    expect([refused.status, refused.body]).toEqual([
      403,
      expect.objectContaining({ error: 'scope_outside_envelope', layer: 'identity', offenders: ['tool:get_balance'] }),
    ]);
    const [told] = await gate.rows(refused.correlationId, (kinds) => kinds.includes('proxy.verdict'));
    expect(told).toMatchObject({ signal: 'scope_outside_envelope', authorized: false, tool_name: 'get_balance' });
    expect((await gate.tools()).counts['get_balance'] ?? 0).toBe(before);
    // A list is no call of a tool, and needs nothing of it.
    expect(
      (await bot.send({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, { 'x-gate-grant': grant.grant })).status,
    ).toBe(200);
    // Without one, the other rules judge alone.
    expect((await bot.call('list_files', {})).status).toBe(200);
  }, 120_000);

  it('is refused by what is wrong with its grant, each by its code', async () => {
    const grant = await granted({ scope: ['tool:list_files'] });
    const [header, payload, signature] = grant.grant.split('.');
    const seconds = Math.floor(Date.now() / 1_000);
    const weekday = (new Date().getUTCDay() + 6) % 7;
    const elsewhere = {
      tz_offset_minutes: 0,
      windows: [{ weekdays: [(weekday + 3) % 7], start_minute: 0, end_minute: 1_440 }],
    };
    const other = await gate.agent('other-bot');
    const cases: readonly (readonly [string, AgentClient, string, string])[] = [
      ['no grant', bot, 'x', 'grant_invalid'],
      [
        'another signature',
        bot,
        `${header}.${payload}.${signature?.replace(/^./, (one) => (one === 'A' ? 'B' : 'A'))}`,
        'grant_invalid',
      ],
      ['another agent', other, grant.grant, 'grant_invalid'],
      [
        'one that begins later',
        bot,
        (await granted({ scope: ['tool:list_files'], not_before: seconds + 600 })).grant,
        'grant_not_yet_valid',
      ],
      [
        'one of another day',
        bot,
        (await granted({ scope: ['tool:list_files'], recurrence: elsewhere })).grant,
        'grant_outside_schedule',
      ],
    ];
    for (const [what, client, shown, code] of cases) {
      const reply = await client.call('list_files', {}, withGrant({ grant: shown }));
      expect([what, reply.status, reply.body['error'], reply.body['layer']]).toEqual([what, 403, code, 'identity']);
      // One row an agent and minute for each code.
      if (code === 'grant_invalid') continue;
      const [told] = await gate.rows(reply.correlationId, (kinds) => kinds.includes('proxy.verdict'));
      expect(told).toMatchObject({ signal: code, authorized: false });
    }
    const short = await granted({ scope: ['tool:list_files'], not_after: seconds + 4 });
    await eventually(
      'it is over',
      async () => seen(await bot.call('list_files', {}, withGrant(short)))[1] === 'grant_expired',
    );
  }, 120_000);

  it('uses a grant once for each call, not for the same one again, and identity hears of it', async () => {
    const grant = await granted({ scope: ['tool:list_files'], max_uses: 2 });
    const first = { ...withGrant(grant), idempotencyId: randomUUID() };
    expect((await bot.call('list_files', {}, first)).status).toBe(200);
    expect((await bot.call('list_files', {}, first)).headers['x-gate-server-execution-replayed']).toBe('true');
    expect((await bot.call('list_files', {}, withGrant(grant))).status).toBe(200);
    const refused = await bot.call('list_files', {}, withGrant(grant));
    expect(seen(refused)).toEqual([403, 'grant_usage_exhausted']);
    const [told] = await gate.rows(refused.correlationId, (kinds) => kinds.includes('proxy.verdict'));
    expect(told).toMatchObject({ signal: 'grant_usage_exhausted' });
    expect((await bot.call('list_files', {}, first)).status).toBe(200);
    await eventually('identity knows', async () =>
      (await listed()).some(({ jti, uses }) => jti === grant.jti && uses === 2),
    );
  }, 120_000);

  it('waits for a person where only asking was delegated, and he sees on whose behalf', async () => {
    const grant = await granted({ yellow_scope: ['yellow:get_balance'] });
    const parked = await bot.call('get_balance', { account: 'operating' }, withGrant(grant));
    expect(parked.status).toBe(202);
    const row = await gate.operator.rowOf(parked.correlationId);
    expect(row).toMatchObject({
      review_reasons: expect.arrayContaining([expect.stringContaining('only lets its agent ask a person')]),
      delegation: { jti: grant.jti, human_sub: 'user:ada', idp: 'corp', yellow_scope: ['yellow:get_balance'] },
    });
    expect((await gate.operator.decide(parked.correlationId, 'approve')).status).toBe(200);
    const ended = await gate.rows(parked.correlationId, (kinds) => kinds.includes('upstream.outcome'));
    expect(ended.at(-1)).toMatchObject({ policy_decision: { stage: 'completed' } });
  }, 120_000);

  it('runs what a person approved although it was the last use of its grant', async () => {
    const grant = await granted({ yellow_scope: ['yellow:get_balance'], max_uses: 1 });
    const parked = await bot.call('get_balance', { account: 'operating' }, withGrant(grant));
    expect(parked.status).toBe(202);
    const agents = JSON.parse(await cli('agents', '--json')) as { id: string; agent_name: string }[];
    const id = agents.find(({ agent_name: name }) => name === NAME)?.id ?? '';
    const ends = async () =>
      (await gate.rows(uuidFromDigest('gate.identity-agent', id))).filter(
        ({ event_kind: event, policy_decision: what }) => event === 'grant.auto_revoked' && what?.['jti'] === grant.jti,
      );
    await eventually('identity ended it', async () => (await ends()).length === 1);
    // What it let in can still be ended by it.
    const active = JSON.parse(await cli('grants', '--agent', NAME, '--json')) as GrantRecord[];
    expect(active).toContainEqual(expect.objectContaining({ jti: grant.jti, uses: 1, max_uses: 1 }));
    // Proxies hear in order: who knows of this one would know of the other.
    const marker = await granted({ scope: ['tool:list_files'] });
    await cli('grants', 'revoke', marker.jti);
    await eventually(
      'every proxy knows',
      async () => seen(await bot.call('list_files', {}, withGrant(marker)))[1] === 'grant_revoked',
    );
    expect((await gate.operator.decide(parked.correlationId, 'approve')).status).toBe(200);
    const ended = await gate.rows(parked.correlationId, (kinds) => kinds.includes('upstream.outcome'));
    expect(ended.at(-1)).toMatchObject({ policy_decision: { stage: 'completed' } });
    expect(seen(await bot.call('get_balance', { account: 'operating' }, withGrant(grant)))).toEqual([
      403,
      'grant_usage_exhausted',
    ]);
  }, 180_000);

  it('hears what came of its call, and is granted the next one, also once the grant that it shows has ended', async () => {
    const grant = await granted({ scope: ['tool:list_files'] });
    const ran = { ...withGrant(grant), idempotencyId: randomUUID() };
    expect((await bot.call('list_files', {}, ran)).status).toBe(200);
    await cli('grants', 'revoke', grant.jti);
    await eventually(
      'it is refused',
      async () => seen(await bot.call('list_files', {}, withGrant(grant)))[1] === 'grant_revoked',
    );
    const again = await bot.call('list_files', {}, ran);
    expect([again.status, again.headers['x-gate-server-execution-replayed']]).toEqual([200, 'true']);
    const token = await idTokenOf(provider, CLIENT, randomUUID());
    const body = { id_token: token, scope: ['tool:list_files'] };
    expect((await bot.request('POST', '/grant', { body, ...withGrant(grant) })).status).toBe(200);
    const twice = await bot.request('POST', '/grant', { body });
    expect([twice.status, twice.body]).toEqual([
      401,
      expect.objectContaining({
        error: 'invalid_token',
        reasoning: expect.stringContaining('exchanged for a grant before'),
      }),
    ]);
    // What it brings does not renew its certificate; that it ended does not keep it from that either.
    const { status, body: told } = await bot.request('POST', '/svid/renew', { body: {}, ...withGrant(grant) });
    expect([status, told['error']]).toEqual([400, 'invalid_request']);
  }, 120_000);

  it('runs nothing that a person approved after its grant was taken back', async () => {
    const grant = await granted({ yellow_scope: ['yellow:wire_transfer'] });
    const transfer = { from: 'operating', to: 'vendor', amount: 7 };
    const parked = await bot.call('wire_transfer', transfer, withGrant(grant));
    expect(parked.status).toBe(202);
    const before = (await gate.tools()).counts['wire_transfer'] ?? 0;
    expect(await cli('grants', 'revoke', grant.jti, '--reason', 'lost')).toContain(
      `taken back: the grant ${grant.jti}`,
    );
    await eventually(
      'every proxy knows',
      async () => seen(await bot.call('list_files', {}, withGrant(grant)))[1] === 'grant_revoked',
    );
    await gate.operator.decide(parked.correlationId, 'approve');
    const ended = await gate.rows(parked.correlationId, (kinds) => kinds.includes('upstream.outcome'));
    expect(ended.at(-1)).toMatchObject({
      signal: 'grant_revoked',
      policy_decision: { stage: 'not_run', code: 'grant_revoked' },
    });
    expect((await gate.tools()).counts['wire_transfer'] ?? 0).toBe(before);
    const again = await bot.request('GET', `/pending/${parked.correlationId}`);
    expect(again.status).toBe(200);
  }, 120_000);

  it('gets no authorization for a decision whose grant was taken back', async () => {
    const grant = await granted({ scope: ['tool:list_files'] });
    const asked = { ...withGrant(grant), contract: 'decision' as const, idempotencyId: randomUUID() };
    const decided = await bot.call('list_files', {}, asked);
    expect(decided.status).toBe(200);
    const authorized = () => bot.request('GET', `/authorizations/${decided.correlationId}`);
    expect((await authorized()).status).toBe(200);
    await cli('grants', 'revoke', grant.jti);
    await eventually('it is refused', async () => seen(await authorized())[1] === 'grant_revoked');
    // Nor is it told once more that it may, whatever grant it shows.
    const { idempotencyId, contract } = asked;
    expect(seen(await bot.call('list_files', {}, { idempotencyId, contract }))).toEqual([403, 'grant_revoked']);
  }, 120_000);

  it('loses the grants that hold more, once less may be delegated to it', async () => {
    const [wide, slim] = [
      await granted({ scope: ['tool:get_balance', 'tool:list_files'] }),
      await granted({ scope: ['tool:list_files'] }),
    ];
    await cli('agents', 'narrow', NAME, '--scope', 'tool:get_balance', '--reason', 'done');
    await eventually(
      'it is refused',
      async () => seen(await bot.call('list_files', {}, withGrant(wide)))[1] === 'grant_revoked',
    );
    expect((await bot.call('list_files', {}, withGrant(slim))).status).toBe(200);
    expect(await cli('grants')).toContain(slim.jti);
  }, 120_000);

  it('exchanges a token at identity for a grant that no other certificate shows, not even the next one of the same agent', async () => {
    const identity = identityAs(gate, bot.credential);
    const exchanged = async (token: Promise<string>) => {
      const body = new URLSearchParams({
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token: await token,
        subject_token_type: 'urn:ietf:params:oauth:token-type:id_token',
        scope: 'tool:list_files',
      }).toString();
      return identity.request('POST', '/token', {
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body,
      });
    };
    try {
      const token = idTokenOf(provider, CLIENT, randomUUID());
      const issued = await exchanged(token);
      expect([issued.status, issued.text]).toEqual([200, issued.text]);
      const grant = { grant: exchangedToken.parse(issued.body).access_token };
      expect((await bot.call('list_files', {}, withGrant(grant))).status).toBe(200);
      expect(seen(await exchanged(token))).toEqual([400, 'invalid_request']);

      const { pem, keyPem } = await certificateRequest();
      const renewed = await bot.request('POST', '/svid/renew', { body: { csr_pem: pem } });
      const next = certifiedAgent(gate, { cert: issuedSvid.parse(renewed.body).cert_pem, key: keyPem });
      const refused = await next.call('list_files', {}, withGrant(grant));
      expect([...seen(refused), refused.text]).toEqual([
        403,
        'grant_invalid',
        expect.stringContaining('bound to another certificate'),
      ]);
      // The one before is the current one no more.
      expect(seen(await exchanged(idTokenOf(provider, CLIENT, randomUUID())))).toEqual([401, 'invalid_client']);
      expect(
        (await next.call('list_files', {}, withGrant(await granted({ scope: ['tool:list_files'] }, next)))).status,
      ).toBe(200);
    } finally {
      await identity.close();
    }
  }, 120_000);

  it('leaves a chain that verifies', async () => {
    expect(await gate.verify()).toMatchObject({ valid: true });
  });
});

describe('a deployment that takes no tool call without a grant', () => {
  let strict: TestStack;
  beforeAll(async () => {
    strict = await startStack({ env: { GATE_PROXY_GRANTS: 'required', GATE_IDENTITY_OIDC_ISSUERS_FILE: issuers } });
  }, STACK_START_LIMIT_MS);
  afterAll(() => strict?.stop(), 150_000);

  it('refuses one, with its row, and answers what is no call', async () => {
    const agent = await strict.agent();
    const refused = await agent.call('list_files', {});
    expect([refused.status, refused.body]).toEqual([
      403,
      expect.objectContaining({ error: 'grant_required', layer: 'identity', executable: false }),
    ]);
    const [told] = await strict.rows(refused.correlationId, (kinds) => kinds.includes('proxy.verdict'));
    expect(told).toMatchObject({ signal: 'grant_required', authorized: false, tool_name: 'list_files' });
    expect((await strict.tools()).counts['list_files'] ?? 0).toBe(0);
    expect((await agent.control('tools/list')).status).toBe(200);
  }, 120_000);

  it('runs one that was delegated', async () => {
    const agent = await enrolled(strict);
    await typedAt(strict, 'agents', 'widen', NAME, '--scope', 'tool:list_files', '--reason', 'its task');
    expect(seen(await agent.call('list_files', {}))).toEqual([403, 'grant_required']);
    const ran = await agent.call('list_files', {}, withGrant(await granted({ scope: ['tool:list_files'] }, agent)));
    expect(ran.status).toBe(200);
    expect((await strict.tools()).counts['list_files']).toBe(1);
  }, 120_000);
});
