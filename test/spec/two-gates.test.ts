import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { issuedActorToken } from '../../contracts/actor-tokens.js';
import type { LedgerEntry } from '../../contracts/ledger.js';
import { issueAgent } from '../../stack/certificates/dev-pki.js';
import { freePort } from '../../stack/programs/free-port.js';
import { type AgentClient, createAgentClient, createHttp } from '../support/agent.js';
import { ensureTestPki, type TestPki } from '../support/service-certificates.js';
import { STACK_START_LIMIT_MS, startStack, type TestStack } from '../support/stack.js';
import { eventually } from '../support/waiting.js';

const THEIRS = 'partner.example';
const GATEWAY = 'partner-gate';

let folder: string;
let theirPki: TestPki;
/** The Gate where the tools are, and the one whose agents come. */
let ours: TestStack;
let theirs: TestStack;
/** As which the other Gate calls. */
let gateway: AgentClient;
const clients: AgentClient[] = [];

const read = (file: string) => readFileSync(file, 'utf8');
const written = (name: string, content: object): string => {
  const file = join(folder, name);
  writeFileSync(file, JSON.stringify(content));
  return file;
};
const asConsole = ({ development: { console_workload: shown, proxy, identity } }: TestStack) =>
  createHttp(identity.url, { ca: read(proxy.ca), cert: read(shown.cert), key: read(shown.key) });
/** The rows of calls that came as that agent, by this Gate's ledger. */
const verdictsHere = async (): Promise<LedgerEntry[]> => {
  const { console_workload: shown, proxy, ledger, operator_token: token } = ours.development;
  const asked = createHttp(ledger.url, { ca: read(proxy.ca), cert: read(shown.cert), key: read(shown.key) });
  const reply = await asked.request('GET', `/audit/${GATEWAY}`, { headers: { authorization: `Bearer ${token}` } });
  await asked.close();
  expect(reply.status).toBe(200);
  return (JSON.parse(reply.text) as LedgerEntry[]).filter(({ event_kind: kind }) => kind === 'proxy.verdict');
};

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gate-two-gates-'));
  const stateDir = join(folder, 'theirs');
  theirPki = await ensureTestPki({ stateDir, trustDomain: THEIRS });
  const theirIdentity = await freePort();
  ours = await startStack({
    env: {
      GATE_IDENTITY_PEERS_FILE: written('peers.json', {
        peers: [
          {
            trust_domain: THEIRS,
            bundle_url: `https://localhost:${theirIdentity}/.well-known/spiffe-bundle`,
            ca_file: theirPki.caFile,
            agents: [`acme/${GATEWAY}`],
          },
        ],
      }),
    },
  });
  const leaf = await issueAgent({ stateDir: ours.stateDir, trustDomain: 'gate.local' }, 'acme', GATEWAY);
  gateway = createAgentClient(ours.development.proxy.url, leaf);
  clients.push(gateway);
  const [certFile, keyFile] = [join(folder, 'gateway.crt'), join(folder, 'gateway.key')];
  writeFileSync(certFile, leaf.cert);
  writeFileSync(keyFile, leaf.key);
  theirs = await startStack({
    stateDir,
    env: {
      GATE_TRUST_DOMAIN: THEIRS,
      GATE_IDENTITY_PORT: String(theirIdentity),
      GATE_IDENTITY_PEERS_FILE: written('their-peers.json', { peers: [{ trust_domain: 'gate.local' }] }),
      GATE_UPSTREAMS: written('upstreams.json', {
        upstreams: [
          {
            name: 'partner',
            url: `${ours.development.proxy.url}/mcp`,
            tls: { ca_file: ours.development.proxy.ca, cert_file: certFile, key_file: keyFile },
            gate: { trust_domain: 'gate.local' },
          },
        ],
      }),
    },
  });
  const console_ = asConsole(theirs);
  const token = read(join(theirs.stateDir, 'secrets', 'identity-admin-token')).trim();
  const registered = await console_.request('POST', '/agents', {
    headers: { authorization: `Bearer ${token}` },
    body: { tenant: 'acme', agent_name: 'bot' },
  });
  expect([registered.status, registered.text]).toEqual([201, registered.text]);
  await console_.close();
}, 2 * STACK_START_LIMIT_MS);
afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await theirs?.stop();
  await ours?.stop();
  rmSync(folder, { recursive: true, force: true });
}, 300_000);

describe('an agent of one Gate that calls a tool of another one', () => {
  const bot = async (name = 'bot') => {
    const leaf = await issueAgent({ stateDir: theirs.stateDir, trustDomain: THEIRS }, 'acme', name);
    const client = createAgentClient(theirs.development.proxy.url, leaf);
    clients.push(client);
    return client;
  };

  it('is named in the rows of both: as itself there, and here as on whose behalf the other Gate asks', async () => {
    const agent = await bot();
    // This Gate asks the other one what its tokens are verified with, as soon as it is there.
    const called = await eventually('the other Gate is heard', async () => {
      const reply = await agent.call('partner__list_files', {});
      return reply.status === 200 && !/a2a_redeem_failed/.test(reply.text) && reply;
    });
    expect(called.body).toMatchObject({ result: { content: [{ type: 'text' }] } });
    const [there] = await theirs.rows(called.correlationId, (kinds) => kinds.includes('upstream.outcome'));
    expect(there).toMatchObject({ agent_id: 'bot', tool_name: 'partner__list_files' });
    expect(there?.policy_decision).not.toHaveProperty('actor');
    const here = await eventually('its row is here', async () =>
      (await verdictsHere()).find(({ authorized, policy_decision: said }) => authorized && 'actor' in (said ?? {})),
    );
    expect(here).toMatchObject({
      agent_id: GATEWAY,
      tenant: 'acme',
      tool_name: 'list_files',
      policy_decision: { actor: { sub: there?.agent_spiffe, iss: `spiffe://${THEIRS}` } },
    });
  }, 180_000);

  it('is sent nowhere where nobody registered it at its own Gate', async () => {
    const before = (await verdictsHere()).length;
    const reply = await (await bot('stranger')).call('partner__list_files', {});
    expect([reply.status, reply.body['error']]).toEqual([502, 'upstream_unreachable']);
    expect(reply.text).toContain('identity gives no token for its agent');
    expect(await verdictsHere()).toHaveLength(before);
  }, 60_000);

  it('has one call by one token, and none by a token of something else or shown by somebody else', async () => {
    const identity = createHttp(theirs.development.identity.url, {
      ca: theirPki.ca,
      cert: theirPki.services.proxy.cert,
      key: theirPki.services.proxy.key,
    });
    const newToken = async (tool: string) => {
      const made = await identity.request('POST', '/actor-token', {
        body: {
          binding: {
            target: `spiffe://${THEIRS}/tenant/acme/agent/bot/instance/0190d7b4-0000-7000-8000-000000000001`,
            tenant: 'acme',
            audience: 'gate.local',
            purpose: 'agent-to-agent',
            operation: 'tools/call',
            lifetime_seconds: 60,
          },
          scope: [`tool:${tool}`],
        },
      });
      expect([made.status, made.text]).toEqual([200, made.text]);
      return { headers: { 'x-gate-actor-token': issuedActorToken.parse(made.body).token } };
    };
    const told = (reply: Awaited<ReturnType<AgentClient['call']>>) => [
      reply.status,
      reply.body['error'],
      reply.body['redeem_error'],
    ];
    const token = await newToken('list_files');
    // Two at once, as two calls: one of them has it.
    const both = await Promise.all([gateway.call('list_files', {}, token), gateway.call('list_files', {}, token)]);
    expect(both.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 403]);
    expect(told(both.find(({ status }) => status === 403) as (typeof both)[number])).toEqual([
      403,
      'a2a_redeem_failed',
      'jti_already_used',
    ]);
    const other = await newToken('list_files');
    expect(told(await gateway.call('get_balance', { account: 'operating' }, other))).toEqual([
      403,
      'a2a_redeem_failed',
      'invalid_token',
    ]);
    const stranger = await ours.agent();
    expect(told(await stranger.call('list_files', {}, other))).toEqual([403, 'a2a_redeem_failed', 'invalid_token']);
    // None of these used it up.
    expect((await gateway.call('list_files', {}, other)).status).toBe(200);
    expect(told(await gateway.call('list_files', {}, { headers: { 'x-gate-actor-token': 'x.y.z' } }))).toEqual([
      403,
      'a2a_redeem_failed',
      'malformed_token',
    ]);
    await identity.close();
  }, 60_000);
});
