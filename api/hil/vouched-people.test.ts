import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DatabaseSync } from '@photostructure/sqlite';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import type { SignedDecision } from '../../contracts/review.js';
import { parseKeyRing } from '../../domain/crypto/key-ring.js';
import type { ReviewsWithNotices } from '../../domain/notification/ports.js';
import { type Vouched, vouchingText } from '../../domain/review/vouching.js';
import { openReviewStore } from '../../adapters/review/review-store.js';
import type { Service } from '../plugins/service.js';
import { hilService, type HilTestOptions } from '../../test/support/hil-service.js';
import { hilMigrations } from '../../migrations/hil.js';
import { writeMigrated } from '../../test/support/migrated-file.js';

const T0 = Date.parse('2026-11-02T10:00:00.000Z');
const TOKEN = 'dev-token-0123456789abcdefghijklmnop';
const DECIDE = 'decide-token-0123456789abcdefghijklm';
const LIFE_SECONDS = 3_600;
const key = generateKeyPairSync('ed25519');
const quorum = { strict: 2, risky: 1, destructive: 1 };

let directory: string;
let file: string;
let reviews: ReviewsWithNotices;
let service: Service;
let received: SignedDecision[];
let now = T0;

const start = (over: Partial<HilTestOptions> = {}): Service =>
  hilService({
    reviews,
    sender: {
      decide: (decision) => {
        received.push(decision);
        const approvals = [
          { by: decision.principal.subject, provenance: decision.principal.method, at: decision.decided_at },
        ];
        return Promise.resolve({ outcome: 'voted', approvals });
      },
    },
    starter: { start: () => Promise.reject(new Error('no review is asked for here')) },
    decisionKey: key.privateKey,
    sessionKey: Buffer.alloc(32, 7),
    operators: [{ name: 'dev', tenant: 'acme', token: TOKEN }],
    decideToken: DECIDE,
    vouchedSeconds: LIFE_SECONDS,
    quorum,
    logger: pino({ level: 'silent' }),
    registry: new Registry(),
    trustDomain: 'gate.local',
    clock: () => now,
    resolveCaller: (request) => {
      const name = String(request.headers['x-test-caller'] ?? 'console');
      const spiffe = `spiffe://gate.local/service/${name}`;
      return { kind: 'service', spiffe, callerId: `service-${name}`, fingerprint: 'cd'.repeat(32) };
    },
    ...over,
  });

const person = (
  name: string,
  role: Vouched['role'] = 'approver',
  tenant = 'acme',
  // A sign-in of now, unless a session that was opened before is meant.
  since_ms: number = now,
): Vouched => ({
  subject: `oidc:${name}`,
  tenant,
  method: 'oidc',
  role,
  since_ms,
  until_ms: null,
});

interface Ask {
  readonly token?: string | null;
  readonly tenant?: string | null;
  readonly as?: string;
  readonly body?: object;
}

async function ask(method: 'GET' | 'POST', url: string, whom: Vouched | string | null, over: Ask = {}) {
  const { token = DECIDE, tenant = 'acme', as = 'console', body } = over;
  const response = await service.app.inject({
    method,
    url,
    headers: {
      'x-test-caller': as,
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...(tenant !== null && { 'x-gate-tenant-scope': tenant }),
      ...(whom !== null && {
        'x-gate-decision-principal': typeof whom === 'string' ? whom : vouchingText(whom),
      }),
    },
    ...(body && { payload: body }),
  });
  return { status: response.statusCode, body: JSON.parse(response.body) as Record<string, unknown> };
}

async function parked(): Promise<string> {
  const { status, body } = await ask('POST', '/pending', null, {
    as: 'proxy',
    token: null,
    body: {
      agent_id: 'payments-agent',
      correlation_id: '00000000-0000-4000-8000-000000000001',
      method: 'call_tool',
      request_payload: {
        jsonrpc: '2.0',
        id: 7,
        method: 'call_tool',
        params: { name: 'wire', arguments: { amount: 5 } },
      },
      risk_summary: 'money movement',
      state_namespace: 'operator',
      ttl_seconds: 20_000,
      created_at: new Date(T0).toISOString(),
      approval_tier: 'strict',
      tenant: 'acme',
    },
  });
  expect(status).toBe(201);
  return String(body['id']);
}
const approve = (id: string, whom: Vouched | string | null, over: Ask = {}) =>
  ask('POST', `/decide/${id}`, whom, { body: { decision: 'approve' }, ...over });
/** Who may approve, as HIL signed it with its last decision. */
const standing = (): readonly string[] => received.at(-1)?.standing_approvers ?? [];

beforeEach(async () => {
  now = T0;
  received = [];
  directory = mkdtempSync(join(tmpdir(), 'gate-vouched-'));
  file = join(directory, 'hil.db');
  const payloadKeys = parseKeyRing(`k1:${'0123456789abcdef'.repeat(4)}`);
  await writeMigrated(file, hilMigrations);
  reviews = await openReviewStore({ target: { file }, payloadKeys, clock: () => now, quorum });
  service = start();
});
afterEach(async () => {
  await service.close();
  await reviews.close();
  rmSync(directory, { recursive: true });
});

describe('a person whom the console vouches for', () => {
  it('has no passkey: whoever vouches could make one for somebody he made up', async () => {
    const id = await parked();
    for (const [path, body] of [
      ['/auth/register/start', {}],
      ['/auth/enrollment/recoveries', { name: 'dev' }],
      [`/pending/${id}/approval-challenge`, { decision: 'approve' }],
    ] as const)
      expect(await ask('POST', path, person('ada'), { body })).toMatchObject({
        status: 403,
        body: { error: 'passkeys_not_vouched' },
      });
  });

  it('decides under the name and the method that the console gives, with its certificate as the credential', async () => {
    expect(await approve(await parked(), person('ada'))).toMatchObject({ status: 200 });
    expect(received[0]?.principal).toEqual({
      subject: 'oidc:ada',
      tenant: 'acme',
      method: 'oidc',
      credential: `workload-mtls:sha256:${'cd'.repeat(32)}`,
      credential_kind: 'console-bearer',
    });
  });

  it.each<[string, Vouched | string | null, Ask]>([
    ['no token', person('ada'), { token: null }],
    ['another token', person('ada'), { token: `${DECIDE}x` }],
    ["an operator's token beside the name", person('ada'), { token: TOKEN }],
    ['the token without a name', null, {}],
    ['an invalid name', 'zz', {}],
    ["an operator's name", vouchingText({ ...person('ada'), subject: 'operator:dev' }), {}],
    ['another tenant than the scope', person('ada', 'approver', 'globex'), {}],
    ['no scope', person('ada'), { tenant: null }],
    ['the certificate of another service', person('ada'), { as: 'simulator' }],
    ['a viewer', person('ada', 'viewer'), {}],
    ['somebody without a role', person('ada', 'none'), {}],
  ])('decides nothing: %s', async (_what, whom, over) => {
    const id = await parked();
    if (over.as === 'simulator') service = (await service.close(), start({ simulatorTenant: 'acme' }));
    expect(await approve(id, whom, over)).toMatchObject({ status: 401 });
    expect(received).toEqual([]);
  });

  it('is nobody where HIL has no token for it, and never reads with fewer rights instead', async () => {
    service = (await service.close(), start({ decideToken: undefined }));
    expect(await ask('GET', '/pending', person('ada'))).toMatchObject({ status: 401 });
    expect(await ask('GET', '/pending', person('ada'), { token: null })).toMatchObject({ status: 401 });
  });

  it('reads the rows of the tenant as a viewer', async () => {
    expect(await ask('GET', '/pending', person('ada', 'viewer'))).toMatchObject({ status: 200 });
  });

  it('lets a tenant go only as an administrator', async () => {
    const asked = { body: {} };
    expect(await ask('POST', '/admin/namespaces/demo/cleanup', person('ada'), asked)).toMatchObject({
      status: 403,
      body: { error: 'role_too_low' },
    });
    now += 1;
    expect(await ask('POST', '/admin/namespaces/demo/cleanup', person('ada', 'admin'), asked)).toMatchObject({
      status: 200,
    });
  });

  it.each(['apply', 'release'] as const)(
    'puts no row under a legal hold, or out of it, but as an administrator: %s',
    async (action) => {
      const id = await parked();
      const hold = (role: Vouched['role'], what: string, n: number) =>
        ask('POST', `/admin/pending/${id}/legal-hold`, person('ada', role), {
          body: {
            operation_id: `00000000-0000-4000-9000-00000000000${n}`,
            action: what,
            hold_id: '00000000-0000-4000-9000-000000000100',
            authority_reason_sha256: `sha256:${'0'.repeat(64)}`,
          },
        });
      if (action === 'release') expect(await hold('admin', 'apply', 1)).toMatchObject({ status: 200 });
      expect(await hold('approver', action, 2)).toMatchObject({
        status: 403,
        body: { error: 'role_too_low', required: 'admin', actual: 'approver' },
      });
      const { retention } = (await reviews.reads.get(id)) ?? {};
      expect(retention?.legal_hold ?? null).toEqual(action === 'release' ? expect.anything() : null);
      expect(await hold('admin', action, 3)).toMatchObject({ status: 200 });
    },
  );

  it('does not approve a call of an agent of his own', async () => {
    const agentOwners = [{ operator: 'oidc:ada', tenant: 'acme', agent: 'payments-agent' }];
    service = (await service.close(), start({ agentOwners }));
    const id = await parked();
    expect(await approve(id, person('ada'))).toMatchObject({ status: 403, body: { error: 'own_request' } });
    await approve(id, person('bob'));
    expect(standing()).toEqual(['operator:dev', 'oidc:bob']);
  });
});

describe('of the people whom a call needs', () => {
  it('those count whom the console vouched for, beside the operators by token', async () => {
    const id = await parked();
    expect((await approve(id, person('ada'))).body['approvals']).toMatchObject([
      { by: 'oidc:ada', provenance: 'oidc' },
    ]);
    await approve(id, person('bob'));
    expect(standing()).toEqual(['operator:dev', 'oidc:ada', 'oidc:bob']);
  });

  it('nobody counts for another tenant', async () => {
    await ask('GET', '/pending', person('eve', 'admin', 'globex'), { tenant: 'globex' });
    await approve(await parked(), person('ada'));
    expect(standing()).toEqual(['operator:dev', 'oidc:ada']);
  });

  it('somebody does not count any more who signs in for another tenant, and an earlier session gives it not back', async () => {
    const id = await parked();
    const before = person('ada');
    await approve(id, before);
    now += 1;
    expect(await ask('GET', '/pending', person('ada', 'viewer', 'globex'), { tenant: 'globex' })).toMatchObject({
      status: 200,
    });
    await approve(id, person('bob'));
    expect(standing()).toEqual(['operator:dev', 'oidc:bob']);
    expect(await approve(id, before)).toMatchObject({ status: 401 });
    now += 1;
    await approve(id, person('ada'));
    expect(standing()).toEqual(['operator:dev', 'oidc:ada', 'oidc:bob']);
  });

  it('somebody counts on whose name is somebody else in another tenant, where no provider names people', async () => {
    const local = (tenant: string): Vouched => ({
      ...person('ada', 'approver', tenant),
      subject: 'basic:ada',
      method: 'basic-admin',
    });
    const id = await parked();
    await approve(id, local('acme'));
    now += 1;
    await ask('GET', '/pending', local('globex'), { tenant: 'globex' });
    await approve(id, person('bob'));
    expect(standing()).toEqual(['operator:dev', 'basic:ada', 'oidc:bob']);
  });

  it.each(['viewer', 'none'] as const)(
    'somebody does not count any more whom the console then calls %s',
    async (role) => {
      const id = await parked();
      await approve(id, person('ada'));
      expect(await ask('POST', '/people/standing', person('ada', role))).toEqual({
        status: 200,
        body: { subject: 'oidc:ada', role },
      });
      await approve(id, person('bob'));
      expect(standing()).toEqual(['operator:dev', 'oidc:bob']);
    },
  );

  it('somebody does not count any more who reads as a viewer', async () => {
    const id = await parked();
    await approve(id, person('ada'));
    await ask('GET', '/pending', person('ada', 'viewer'));
    await approve(id, person('bob'));
    expect(standing()).toEqual(['operator:dev', 'oidc:bob']);
  });

  it('somebody counts as long as the word about him holds, which each request of his begins anew', async () => {
    const id = await parked();
    await approve(id, person('ada'));
    now += (LIFE_SECONDS - 1) * 1_000;
    await ask('GET', '/pending', person('ada'));
    now += (LIFE_SECONDS - 1) * 1_000;
    await approve(id, person('bob'));
    expect(standing()).toContain('oidc:ada');
    now += 1_000;
    await approve(id, person('bob'));
    expect(standing()).toEqual(['operator:dev', 'oidc:bob']);
  });

  it('somebody counts no longer than what he may do lasts, also where nobody says that it is over', async () => {
    const id = await parked();
    const leaving = { ...person('ada'), until_ms: T0 + 60_000 };
    await approve(id, leaving);
    now = T0 + 59_999;
    await approve(id, person('bob'));
    expect(standing()).toEqual(['operator:dev', 'oidc:ada', 'oidc:bob']);
    now = T0 + 60_000;
    await approve(id, person('bob'));
    expect(standing()).toEqual(['operator:dev', 'oidc:bob']);
    expect(await approve(id, leaving)).toMatchObject({ status: 401 });
  });

  it('somebody does not count any more of whom the word was kept while the clock was ahead, until his next request', async () => {
    const id = await parked();
    now += 36_000_000;
    await approve(id, person('ada'));
    await approve(id, person('bob'));
    expect(standing()).toContain('oidc:ada');
    now -= 36_000_000;
    await approve(id, person('bob'));
    expect(standing()).toEqual(['operator:dev', 'oidc:bob']);
    await ask('GET', '/pending', person('ada'));
    await approve(id, person('bob'));
    expect(standing()).toContain('oidc:ada');
  });

  it('somebody counts as ever whose end is far away', async () => {
    const id = await parked();
    await approve(id, { ...person('ada'), until_ms: T0 + 10 * LIFE_SECONDS * 1_000 });
    now += LIFE_SECONDS * 1_000 - 1;
    await approve(id, person('bob'));
    expect(standing()).toContain('oidc:ada');
    now += 1;
    await approve(id, person('bob'));
    expect(standing()).not.toContain('oidc:ada');
  });

  it('somebody whose role is taken away does not count any more, also by a clock that is behind', async () => {
    const id = await parked();
    await approve(id, person('ada'));
    now -= 60_000;
    await ask('POST', '/people/standing', person('ada', 'none'));
    now += 60_000;
    await approve(id, person('bob'));
    expect(standing()).toEqual(['operator:dev', 'oidc:bob']);
  });

  describe('the word of a session', () => {
    it.each(['viewer', 'none'] as const)('gives back nothing that was taken away since: %s', async (role) => {
      const id = await parked();
      const session = person('ada');
      await approve(id, session);
      now += 1_000;
      await ask('POST', '/people/standing', person('ada', role));
      expect(await approve(id, session)).toMatchObject({ status: 401, body: { error: 'unauthenticated' } });
      expect(await ask('GET', '/pending', session)).toMatchObject({ status: 401 });
      await approve(id, person('bob'));
      expect(standing()).toEqual(['operator:dev', 'oidc:bob']);
      now += 1_000;
      expect(await approve(id, person('ada'))).toMatchObject({ status: 200 });
    });

    it('gives back nothing after a restart either', async () => {
      const session = person('ada');
      now += 1_000;
      await ask('POST', '/people/standing', person('ada', 'none'));
      service = (await service.close(), start());
      expect(await approve(await parked(), session)).toMatchObject({ status: 401 });
    });

    it.each(['viewer', 'none', 'another tenant'] as const)(
      'gives back nothing however long ago it was taken away, and after words about others: %s',
      async (what) => {
        const session = person('ada', 'admin');
        const id = await parked();
        await approve(id, session);
        now += 1_000;
        const taken = what === 'another tenant' ? person('ada', 'viewer', 'globex') : person('ada', what);
        await ask('POST', '/people/standing', taken, { tenant: taken.tenant });
        now += 3 * LIFE_SECONDS * 1_000;
        await ask('GET', '/pending', person('eve', 'viewer', 'globex'), { tenant: 'globex' });
        await ask('GET', '/pending', person('bob'));
        service = (await service.close(), start());
        expect(await approve(id, session)).toMatchObject({ status: 401, body: { error: 'unauthenticated' } });
        expect(await ask('GET', '/pending', session)).toMatchObject({ status: 401 });
        await approve(id, person('bob'));
        expect(standing()).toEqual(['operator:dev', 'oidc:bob']);
        expect(await approve(id, person('ada'))).toMatchObject({ status: 200 });
      },
    );

    it.each([
      ['role', `'approver'`],
      ['mac', `'k0:' || substr(mac, 4)`],
    ])(
      'gives back nothing where Gate does not know the row as its own (%s); a later sign-in does',
      async (column, to) => {
        const session = person('ada');
        await ask('GET', '/pending', session);
        now += 1_000;
        await ask('POST', '/people/standing', person('ada', 'none'));
        const database = new DatabaseSync(file);
        expect(database.prepare(`update vouched_people set ${column} = ${to}`).run().changes).toBe(1);
        database.close();
        service = (await service.close(), start());
        const id = await parked();
        expect(await approve(id, session)).toMatchObject({ status: 401 });
        now += 1_000;
        expect(await approve(id, person('ada'))).toMatchObject({ status: 200 });
      },
    );

    it('gives back nothing that another process of HIL heard was taken away, from that moment on', async () => {
      const session = person('ada');
      const id = await parked();
      expect(await approve(id, session)).toMatchObject({ status: 200 });
      const first = service;
      service = start();
      await ask('POST', '/people/standing', person('ada', 'none'));
      await service.close();
      service = first;
      const before = received.length;
      expect(await approve(id, session)).toMatchObject({ status: 401 });
      expect(received).toHaveLength(before);
    });

    it('takes away nothing that was given since', async () => {
      const viewer = person('ada', 'viewer');
      now += 1_000;
      const id = await parked();
      await approve(id, person('ada'));
      expect(await ask('GET', '/pending', viewer)).toMatchObject({ status: 401 });
      await approve(id, person('bob'));
      expect(standing()).toContain('oidc:ada');
    });

    it('counts beside a later one of the same role: two browsers of one person', async () => {
      const first = person('ada');
      now += 1_000;
      await ask('POST', '/people/standing', person('ada'));
      now += (LIFE_SECONDS - 1) * 1_000;
      const id = await parked();
      expect(await approve(id, first)).toMatchObject({ status: 200 });
      now += 2_000;
      await approve(id, person('bob'));
      expect(standing()).toContain('oidc:ada');
    });
  });

  describe('the word of a session that was opened by a clock that was ahead', () => {
    const YEAR_MS = 365 * 86_400_000;
    /** Puts the clock ahead for what is done, and right again. */
    const ahead = async <Done>(act: () => Promise<Done>): Promise<Done> => {
      now += YEAR_MS;
      const done = await act();
      now -= YEAR_MS;
      return done;
    };

    it('is refused, and stands in the way of no other', async () => {
      const id = await parked();
      const session = person('ada', 'admin', 'acme', now + 60_001);
      expect(await approve(id, session)).toMatchObject({
        status: 401,
        body: { error: 'unauthenticated' },
      });
      expect(await approve(id, person('ada', 'approver', 'acme', now))).toMatchObject({ status: 200 });
      expect(await approve(id, person('bob', 'approver', 'acme', now + 60_000))).toMatchObject({ status: 200 });
    });

    it('takes a role away all the same, as of now', async () => {
      const id = await parked();
      const session = person('ada');
      await approve(id, session);
      now += 1_000;
      const taken = person('ada', 'none', 'acme', now + YEAR_MS);
      expect(await ask('POST', '/people/standing', taken)).toMatchObject({ status: 200 });
      expect(await approve(id, session)).toMatchObject({ status: 401 });
      now += 1_000;
      expect(await approve(id, person('ada'))).toMatchObject({ status: 200 });
    });

    it.each([
      ['approver', 'viewer'],
      ['viewer', 'approver'],
      ['none', 'approver'],
    ] as const)('and was heard by then, as %s, holds against none of after it is put right: %s', async (was, is) => {
      const session = person('ada', is);
      const far = await ahead(async () => {
        const said = person('ada', was);
        await ask('POST', '/people/standing', said);
        return said;
      });
      now += 1_000;
      // One of before is older than it still.
      expect(await ask('GET', '/pending', session)).toMatchObject({ status: 401 });
      now += 1_000;
      expect(await ask('GET', '/pending', person('ada', is))).toMatchObject({ status: 200 });
      if (was !== 'none') expect(await ask('GET', '/pending', far)).toMatchObject({ status: 401 });
    });

    it('and was heard by then for another tenant, keeps nobody out of this one', async () => {
      await ahead(() => ask('GET', '/pending', person('ada', 'approver', 'globex'), { tenant: 'globex' }));
      const before = person('ada');
      now += 1_000;
      expect(await ask('GET', '/pending', before)).toMatchObject({ status: 401 });
      now += 1_000;
      expect(await ask('GET', '/pending', person('ada'))).toMatchObject({ status: 200 });
    });
  });

  it('the word outlives a restart', async () => {
    const id = await parked();
    await approve(id, person('ada'));
    service = (await service.close(), start());
    await approve(id, person('bob'));
    expect(standing()).toContain('oidc:ada');
  });

  it('nobody counts who was written into the store from outside', async () => {
    const id = await parked();
    await approve(id, person('ada'));
    await ask('POST', '/people/standing', person('ada', 'none'));
    const database = new DatabaseSync(file);
    expect(database.prepare(`update vouched_people set role = 'approver'`).run().changes).toBe(1);
    database.close();
    await approve(id, person('bob'));
    expect(standing()).toEqual(['operator:dev', 'oidc:bob']);
  });
});
