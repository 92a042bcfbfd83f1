import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import {
  enrollment,
  issuedSvid,
  type KeptStopReport,
  type StopRecord,
  type StopReport,
} from '../../contracts/identity.js';
import type { JsonObject } from '../../contracts/json.js';
import type { LedgerEntry, VerifyResult } from '../../contracts/ledger.js';
import type { PendingRequest } from '../../contracts/review.js';
import { uuidFromDigest } from '../../domain/crypto/digest.js';
import { type AgentClient, createAgentClient, createHttp, type Http, type Reply } from '../support/agent.js';
import { certificateRequest } from '../support/certificate-request.js';
import { gateServices, readCompose } from '../support/compose.js';
import { CONTAINERS, type RunningProcess, type SeparateStack, startSeparateStack } from '../support/separate-stack.js';
import { STACK_START_LIMIT_MS } from '../support/stack.js';
import { faultsOf } from '../linearizability/faults.js';
import { PROCESSES, separateGate } from '../linearizability/deployments.js';
import { playRound, WAYS } from '../linearizability/rounds.js';
import { hasGo } from '../support/go-program.js';
import { needs } from '../support/needs.js';
import { seededRandom } from '../support/random.js';
import { someOf, timesOf } from '../support/some-of.js';
import { eventually } from '../support/waiting.js';

const compose = readCompose();
const hasChecker = await hasGo();
let stack: SeparateStack;
let agent: AgentClient;
/** A worker that shows the engine its certificate of the data plane. */
let refused: RunningProcess;

beforeAll(async () => {
  stack = await startSeparateStack();
  const { GATE_TLS_CERT_FILE, GATE_TLS_KEY_FILE } = stack.environmentOf('worker');
  refused = stack.start('worker', {
    GATE_TEMPORAL_TLS_CERT_FILE: GATE_TLS_CERT_FILE,
    GATE_TEMPORAL_TLS_KEY_FILE: GATE_TLS_KEY_FILE,
    GATE_WORKER_HEALTH_PORT: '0',
  });
  agent = createAgentClient(`https://localhost:${stack.port('proxy:8443')}`, {
    ca: stack.file('operator', 'ca.crt'),
    cert: stack.file('operator', 'support-bot.crt'),
    key: stack.file('operator', 'support-bot.key'),
  });
}, STACK_START_LIMIT_MS);

afterAll(async () => {
  await agent?.close();
  if (refused?.child.exitCode === null) refused.child.kill('SIGKILL');
  await refused?.ended;
  await stack?.stop();
}, 60_000);

const operator = <T>(...args: string[]): Promise<T> => stack.operator<T>(...args);
const tools = () => stack.tools();

describe('docker-compose.yml, its services as separate processes', () => {
  it('runs every Gate service that stands in the file', () => {
    const long = gateServices(compose).filter(([, { restart }]) => restart !== 'no');
    expect(long.map(([name]) => name).sort()).toEqual([...CONTAINERS].sort());
  });

  it('executes an allowed call once', async () => {
    const idempotencyId = randomUUID();
    const first = await agent.call('list_files', {}, { idempotencyId });
    expect([first.status, first.text]).toEqual([200, expect.stringContaining('result')]);
    const again = await agent.call('list_files', {}, { idempotencyId });
    expect(again.status).toBe(200);
    expect(await tools()).toMatchObject({ sessions: 1, counts: { list_files: 1 } });
  });

  it('is one client to the tools for each agent, whichever process talks to them', async () => {
    for (const reply of await Promise.all([
      agent.control('tools/list'),
      agent.call('list_files'),
      agent.control('tools/list'),
      agent.call('list_files'),
    ]))
      expect(reply.status).toBe(200);
    expect((await tools()).sessions).toBe(1);
  });

  it('refuses a denied call, and nothing runs', async () => {
    const denied = await agent.call('delete_file', { path: 'notes.txt' });
    expect([denied.status, denied.body['error']]).toEqual([403, 'policy_denied']);
    expect((await tools()).counts['delete_file']).toBeUndefined();
  });

  it('parks a call, and executes it exactly once after an operator approved it', async () => {
    const idempotencyId = randomUUID();
    const transfer = () =>
      agent.call('wire_transfer', { from: 'operating', to: 'payroll', amount: 25 }, { idempotencyId });
    const parked = await transfer();
    expect(parked.status).toBe(202);
    const waiting = await operator<PendingRequest[]>('pending');
    expect(waiting.map((row) => row.correlation_id)).toEqual([parked.correlationId]);
    const decided = await operator<PendingRequest>('decide', parked.correlationId, 'approve', '--reason', 'expected');
    expect([decided.status, decided.decided_by]).toEqual(['approved', 'operator:dev']);
    const done = await eventually('the result of the approved call', async () => {
      const reply = await transfer();
      return reply.status === 200 && reply;
    });
    expect(done.text).toContain('result');
    expect((await tools()).counts['wire_transfer']).toBe(1);

    const rows = await eventually('the rows of the call', async () => {
      const found = await operator<LedgerEntry[]>('audit', parked.correlationId);
      return found.some((row) => row.event_kind === 'upstream.outcome') && found;
    });
    expect(rows.map((row) => row.event_kind)).toEqual(
      expect.arrayContaining(['proxy.verdict', 'hil.created', 'hil.approved', 'upstream.outcome']),
    );
  }, 60_000);

  it('verifies the whole chain over HTTP', async () => {
    const result = await operator<VerifyResult>('verify');
    expect(result.valid).toBe(true);
    expect(result.entries_checked).toBeGreaterThan(5);
  });

  it('keeps a certificate of the data plane out of the engine', async () => {
    expect(await refused.ended).toBe(1);
    expect(refused.output()).toContain('the workflow engine at');
  }, 30_000);

  it('has one report of what a stop met, also where the proxy was killed before it told that', async () => {
    const parked = await agent.call('wire_transfer', { from: 'operating', to: 'payroll', amount: 24 });
    expect(parked.status).toBe(202);
    const stopped = await operator<StopRecord>('contain', 'tool', 'wire_transfer', '--unlisted', '--reason', 'odd');
    await stack.killed('proxy');
    await stack.back('proxy');
    const report = await eventually('the report is made', () =>
      operator<StopReport>('stops', 'report', String(stopped.report_id)).catch(() => null),
    );
    expect(report).toMatchObject({ stopped: { kind: 'tool', id: stopped.id, name: 'wire_transfer' }, reason: 'odd' });
    expect(report.calls).toContainEqual(
      expect.objectContaining({ was: 'parked', correlation_id: parked.correlationId }),
    );
    for (const as of [[], ['--as', 'second']])
      await operator('release', 'tool', 'wire_transfer', '--reason', 'known', ...as);
    expect(await operator<KeptStopReport[]>('stops', 'report')).toMatchObject([{ id: report.id, state: 'made' }]);
  }, 120_000);

  describe('while a neighbour is away', () => {
    const stopped = (name: string) => stack.killed(name);
    const back = (name: string) => stack.back(name);
    const transfer = { from: 'operating', to: 'payroll', amount: 26 };

    it.each([
      ['brain', 'brain', 'list_files', {}],
      ['policy-engine', 'policy', 'list_files', {}],
      ['hil', 'hil', 'wire_transfer', transfer],
    ])(
      'without %s: 503 that names the layer and no address, nothing runs, and the same id goes through once it is back',
      async (name, layer, tool, args) => {
        const before = (await tools()).counts[tool] ?? 0;
        await stopped(name);
        const idempotencyId = randomUUID();
        const refusal = await agent.call(tool, args, { idempotencyId });
        expect([refusal.status, refusal.body]).toMatchObject([503, { error: 'pipeline_unavailable', layer }]);
        expect(refusal.headers['retry-after']).toBe('2');
        expect(refusal.text).not.toMatch(/localhost|127\.0\.0\.1|:\d{2,5}\b|ECONN/);
        expect((await tools()).counts[tool] ?? 0).toBe(before);
        await back(name);
        const answer = await eventually('the same id is judged', async () => {
          const reply = await agent.call(tool, args, { idempotencyId });
          return reply.status !== 503 && reply;
        });
        expect(answer.status).toBe(tool === 'list_files' ? 200 : 202);
      },
      90_000,
    );

    it('without brain policy is still heard: what it denies is denied', async () => {
      await stopped('brain');
      const denied = await agent.call('delete_file', { path: 'notes.txt' });
      expect([denied.status, denied.body['layer']]).toEqual([403, 'policy']);
      await back('brain');
    }, 90_000);

    it('without the sandbox a call waits all the same, without a report; with it, its row has one', async () => {
      const reportOn = async (amount: number) => {
        const parked = await agent.call('wire_transfer', { ...transfer, amount });
        expect(parked.status).toBe(202);
        const rows = await operator<PendingRequest[]>('pending');
        return rows.find(({ correlation_id }) => correlation_id === parked.body['correlation_id'])?.sandbox_report;
      };
      await stopped('sandbox');
      expect(await reportOn(27)).toBeNull();
      await back('sandbox');
      expect(await eventually('a report', () => reportOn(28))).toEqual({
        operation_class: 'write',
        severity: 'risky',
        reversible: 'no',
        summary: 'move 28 to `payroll`',
      });
    }, 90_000);

    it('without the ledger calls go on, and their rows are there once it is back', async () => {
      await stopped('ledger');
      const done = await agent.call('list_files');
      expect(done.status).toBe(200);
      await back('ledger');
      const rows = await eventually('the rows of the call', async () => {
        const found = await operator<LedgerEntry[]>('audit', done.correlationId);
        return found.some((row) => row.event_kind === 'upstream.outcome') && found;
      });
      expect(rows.map((row) => row.event_kind)).toEqual([
        'proxy.verdict',
        'brain.inspection',
        'policy.evaluated',
        'upstream.outcome',
      ]);
    }, 120_000);

    it('without a worker the proxy is not ready while calls wait, and ready again once one polls', async () => {
      const worker = async (): Promise<string> => {
        const probe = await fetch(`http://localhost:${stack.healthPort('proxy')}/readyz`);
        const { checks, details } = (await probe.json()) as Record<'checks' | 'details', Record<string, string>>;
        return `${probe.status} ${checks['worker']} ${details['worker'] ?? ''}`;
      };
      const seen: string[] = [];
      let busy = true;
      const watching = (async () => {
        while (busy) seen.push(await worker());
      })();
      // On a slow machine a neighbour may be too late for one of them. Its id goes through again, and a new one where nothing was executed.
      const done = (): Promise<Reply> => {
        let idempotencyId = randomUUID();
        return eventually('the call is done', async () => {
          const reply = await agent.call('list_files', {}, { idempotencyId });
          const { error } = reply.body;
          if (error === 'call_abandoned' || error === 'attempt_not_begun') idempotencyId = randomUUID();
          else if (error !== 'pipeline_unavailable') return reply;
          return false;
        });
      };
      const burst = await Promise.all(Array.from({ length: 24 }, done));
      busy = false;
      await watching;
      expect(burst.filter(({ status }) => status !== 200).map(({ text }) => text)).toEqual([]);
      expect(seen.length).toBeGreaterThan(5);
      expect(seen.filter((said) => !said.includes(' ok '))).toEqual([]);

      await stopped('worker');
      const begunMs = Date.now();
      const lost = agent.call('list_files');
      const said = await eventually('the proxy is not ready', async () => {
        const now = await worker();
        return now.startsWith('503 failed') && now;
      });
      expect(said).toContain('no worker takes what has waited for');
      // Five seconds, and as long as the engine remembers its count.
      expect(Date.now() - begunMs).toBeLessThan(15_000);
      expect((await lost).status).toBe(503);
      await back('worker');
      await eventually('the proxy is ready', async () => (await worker()).startsWith('200 ok'));
      expect((await agent.call('list_files')).status).toBe(200);
    }, 120_000);

    it('without the upstream: 502 that says what happened and not where, and nothing is left open', async () => {
      await stopped('tools');
      const lost = await agent.call('list_files');
      expect([lost.status, lost.body]).toMatchObject([502, { error: 'upstream_unreachable', layer: 'upstream' }]);
      expect(lost.text).not.toMatch(/localhost|127\.0\.0\.1|https?:/);
      stack.running.set('tools', stack.start('tools'));
      await eventually('the tools answer', async () => {
        const reply = await agent.call('list_files');
        return reply.status === 200;
      });
      expect((await agent.control('tools/list')).status).toBe(200);
      expect((await tools()).sessions).toBe(1);
    }, 90_000);
  });

  describe('a certificate that identity issued', () => {
    /** So that the test sees the end of each. */
    const SOON_OVER = { GATE_IDENTITY_REVOCATION_SECS: '10', GATE_IDENTITY_SUPERSEDED_SECS: '5' };
    const second = ['proxy-2:8443', 'proxy-2:8080'] as const;
    const file = (container: string, name: string) => stack.file(container, name);
    const ca = () => file('operator', 'ca.crt');
    const opened: Http[] = [];
    const at = <Client extends Http>(client: Client): Client => {
      opened.push(client);
      return client;
    };
    const askIdentity = async (path: string, body: JsonObject, token: string, credential = {}) => {
      const reply = await at(
        createHttp(`https://localhost:${stack.port('identity:8086')}`, { ca: ca(), ...credential }),
      ).request('POST', path, { headers: { authorization: `Bearer ${token}` }, body });
      return { status: reply.status, body: reply.body };
    };
    const asConsole = (path: string, body: JsonObject) =>
      askIdentity(path, body, file('identity', 'identity-admin-token').trim(), {
        cert: file('operator', 'console.crt'),
        key: file('operator', 'console.key'),
      });
    /** An agent with its first certificate, as each of the two proxies sees it. */
    async function enrolled(name: string) {
      const { token, agent_id: agentId } = enrollment.parse(
        (await asConsole('/enrollments', { tenant: 'acme', agent_name: name })).body,
      );
      const { pem, keyPem } = await certificateRequest();
      const answer = await askIdentity('/enrollments/svid', { csr_pem: pem }, token);
      expect(answer.status).toBe(200);
      const { id, cert_pem: cert } = issuedSvid.parse(answer.body);
      const clients = atBoth({ cert, key: keyPem });
      return { id, agentId, clients, credential: { cert, key: keyPem } };
    }
    const atBoth = (credential: { readonly cert: string; readonly key: string }) =>
      [stack.port('proxy:8443'), stack.port(second[0])].map((port) =>
        at(createAgentClient(`https://localhost:${port}`, { ca: ca(), ...credential })),
      );
    const errors = (clients: readonly AgentClient[]) =>
      Promise.all(
        clients.map(async (client) => {
          try {
            const { status, text } = await client.call('list_files');
            return status === 200 ? 200 : `${status} ${(JSON.parse(text) as { error: string }).error}`;
          } catch {
            // The connection ended as the certificate did.
            return 'ended';
          }
        }),
      );
    const bothSay = (clients: readonly AgentClient[], what: string | number) =>
      eventually(`both proxies say ${what}`, async () => (await errors(clients)).every((said) => said === what));
    const identityEnds = async () => {
      await stack.killed('identity');
    };

    beforeAll(async () => {
      for (const name of second) await stack.portOf(name);
      stack.running.set(
        'proxy-2',
        stack.start('proxy', {
          GATE_PROXY_PORT: String(stack.port(second[0])),
          GATE_PROXY_HEALTH_PORT: String(stack.port(second[1])),
        }),
      );
      await identityEnds();
      stack.running.set('identity', stack.start('identity', SOON_OVER));
      await stack.ready('identity');
    }, 90_000);
    afterAll(async () => {
      await Promise.all(opened.map((client) => client.close()));
      const { child, ended } = stack.running.get('proxy-2') as RunningProcess;
      stack.running.delete('proxy-2');
      child.kill('SIGKILL');
      await ended;
    });

    it('is refused by every proxy once it is revoked, and another one of the same agent too', async () => {
      const { id, clients } = await enrolled('revoked-bot');
      const { agentId, clients: others } = await enrolled('other-bot');
      await bothSay(clients, 200);
      expect((await asConsole('/revoke', { kind: 'svid', svid_id: id })).status).toBe(200);
      await bothSay(clients, '401 certificate_revoked');
      expect(await errors(others)).toEqual([200, 200]);
      expect((await asConsole('/revoke', { kind: 'agent', agent_id: agentId })).status).toBe(200);
      await bothSay(others, '401 certificate_revoked');
    }, 90_000);

    it('is refused too where identity was killed when it had stored that, before anybody heard of it', async () => {
      const { id, clients } = await enrolled('unheard-bot');
      await bothSay(clients, 200);
      const lost = asConsole('/revoke', { kind: 'svid', svid_id: id }).then(
        ({ status }) => status,
        () => 'no answer',
      );
      const database = new pg.Client({ connectionString: stack.postgres.url });
      await database.connect();
      await eventually('it is stored', async () => {
        const { rows } = await database.query('select revoked_ms from gate_identity.identity_svids where id = $1', [
          id,
        ]);
        return (rows as { revoked_ms: string | null }[])[0]?.revoked_ms;
      });
      await identityEnds();
      await database.end();
      // It may have been heard of just before.
      expect([200, 'no answer']).toContain(await lost);
      stack.running.set('identity', stack.start('identity', SOON_OVER));
      await bothSay(clients, '401 certificate_revoked');
    }, 90_000);

    it('is renewed at the proxy, in the ledger with who did it, and counts a while beside the next one', async () => {
      const { id, agentId, clients } = await enrolled('renewing-bot');
      const { pem, keyPem } = await certificateRequest();
      const renewed = await clients[0]?.request('POST', '/svid/renew', { body: { csr_pem: pem } });
      expect(renewed?.status).toBe(200);
      const next = issuedSvid.parse(renewed?.body);
      const nexts = atBoth({ cert: next.cert_pem, key: keyPem });
      await bothSay(nexts, 200);
      expect((await clients[1]?.request('POST', '/svid/renew', { body: { csr_pem: pem } }))?.body).toMatchObject({
        id: next.id,
      });
      await bothSay(clients, '401 certificate_superseded');
      expect(await errors(nexts)).toEqual([200, 200]);
      const rows = await eventually('the rows of its certificates', async () => {
        const found = await operator<LedgerEntry[]>('audit', uuidFromDigest('gate.identity-agent', agentId));
        return found.length === 2 && found;
      });
      expect(rows.map(({ event_kind: kind, policy_decision: what }) => [kind, what?.['svid_id']])).toEqual([
        ['identity.svid_issued', id],
        ['identity.svid_renewed', next.id],
      ]);
      const refused = await nexts[0]?.request('POST', '/svid/renew', { body: { csr_pem: pem, agent_spiffe: 'x' } });
      expect([refused?.status, refused?.body['error']]).toEqual([400, 'invalid_request']);
      const used = await nexts[0]?.request('POST', '/svid/renew', { body: { csr_pem: pem } });
      expect([used?.status, used?.body['error']]).toEqual([409, 'issuance_replay']);
    }, 90_000);

    it('is one or none where identity was killed before it answered, which the same request asked again tells', async () => {
      const { clients } = await enrolled('killed-bot');
      const [client] = clients as [AgentClient];
      const { pem } = await certificateRequest();
      const renew = (csr: string) => client.request('POST', '/svid/renew', { body: { csr_pem: csr } });
      const lost = renew(pem);
      await identityEnds();
      const first = await lost;
      if (first.status !== 200) expect([first.status, first.body['error']]).toEqual([503, 'ca_unavailable']);
      stack.running.set('identity', stack.start('identity', { ...SOON_OVER, GATE_IDENTITY_SUPERSEDED_SECS: '60' }));
      await stack.ready('identity');
      // Until a proxy has heard identity again it may let nobody in; nothing is asked of identity then.
      const again = await eventually('identity is heard', async () => {
        const reply = await renew(pem);
        return reply.status !== 503 && reply;
      });
      if (first.status === 200) expect([again.status, again.body]).toEqual([200, first.body]);
      else if (again.status !== 200) {
        expect([again.status, again.body['error']]).toEqual([409, 'issuance_replay']);
        expect((await renew((await certificateRequest()).pem)).status).toBe(200);
      }
    }, 90_000);

    it('counts without identity until the list is over, then does not, and again once identity is back', async () => {
      const { clients } = await enrolled('waiting-bot');
      await bothSay(clients, 200);
      await identityEnds();
      expect(await errors(clients)).toEqual([200, 200]);
      await bothSay(clients, '503 control_state_unavailable');
      const probe = await fetch(`http://localhost:${stack.port(second[1])}/readyz`);
      expect([probe.status, ((await probe.json()) as { checks: JsonObject }).checks['revocations']]).toEqual([
        503,
        'failed',
      ]);
      stack.running.set('identity', stack.start('identity'));
      await bothSay(clients, 200);
    }, 120_000);
  });

  describe('reviews that many people decide at once', () => {
    const REVIEWS = timesOf(33, 100);
    const some = someOf('processes that are killed alone', PROCESSES, 2);
    // Two of them in one round; where all of them are tried each has a round of its own.
    const rounds = some.length === PROCESSES.length ? some.map((name) => [name]) : [some];

    (hasChecker ? it : it.skip).each(rounds.map((kill) => [kill.join(', then of the '), kill] as const))(
      `each have one end, whoever asks: ${REVIEWS} of them, kill -9 of the %s alone in between${needs('go', hasChecker)}`,
      async (_, kill) => {
        const random = seededRandom('reviews that many people decide at once');
        const deployment = separateGate({ stack, kill, random });
        const { ended, gate, ways } = await playRound({ deployment, reviews: REVIEWS, random });
        expect(await faultsOf(ended, await stack.tools())).toEqual([]);
        expect([...ways.keys()].toSorted()).toEqual(WAYS.toSorted());
        expect(await gate.verify()).toMatchObject({ valid: true });
        await gate.down();
      },
      600_000,
    );
  });

  it('stops tidily on SIGTERM: the proxy refuses and drains, and every process ends with 0', async () => {
    const proxy = stack.running.get('proxy') as RunningProcess;
    const slow = agent.call('slow_task', { seconds: 5 });
    await eventually('the slow tool runs', async () => (await tools()).counts['slow_task'] === 1);
    proxy.child.kill('SIGTERM');
    expect((await slow).status).toBe(200);
    expect(await proxy.ended).toBe(0);
    await expect(agent.call('list_files')).rejects.toThrow();
    for (const name of [...CONTAINERS].reverse()) {
      const { child, ended } = stack.running.get(name) as RunningProcess;
      child.kill('SIGTERM');
      expect([name, await ended]).toEqual([name, 0]);
    }
  }, 60_000);
});
