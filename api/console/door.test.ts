import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { openSessionStore, type SessionStore } from '../../adapters/console/session-store.js';
import { readVouching } from '../../domain/review/vouching.js';
import type { Over } from '../plugins/declaration.js';
import { ASK_LIMITS } from './ask-limits.js';
import { doorOf, type DoorOptions } from './door.js';

const NOW = Date.parse('2026-11-02T10:00:00.000Z');
const ADA = { subject: 'mtls:spiffe://gate.local/operator/ada', tenant: 'acme', role: 'approver' };
const BOB = { ...ADA, subject: 'mtls:spiffe://gate.local/operator/bob' };

describe('when the console starts', () => {
  let folder: string;
  let sessions: SessionStore;
  let told: (ReturnType<typeof readVouching> | undefined)[];
  /** The modes of the sessions that are somebody's now. */
  let standing: readonly string[];
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gate-door-'));
    told = [];
    standing = [];
    sessions = await openSessionStore({
      target: { file: join(folder, 'console.db') },
      key: Buffer.alloc(32, 9),
      idleMs: 3_600_000,
      clock: () => NOW,
    });
  });
  afterEach(async () => {
    await sessions.close();
    rmSync(folder, { recursive: true });
  });
  const hil: Over = {
    url: 'https://hil.invalid',
    fetch: ((_url: string, { headers }: { headers: Record<string, string> }) => {
      told.push(readVouching(headers['x-gate-decision-principal'] ?? ''));
      return Promise.resolve({ status: 200, text: () => Promise.resolve('{}') });
    }) as never,
  };
  const reopened = (of: Promise<Over> = Promise.resolve(hil)) => {
    const parts = {
      sessions,
      signIn: { name: 'operator-mtls' },
      decideToken: 'decide-token-0123456789abcdefghijklm',
      hil: of,
      limits: ASK_LIMITS,
      people: { entitledBy: ({ mode }: { mode: string }) => Promise.resolve(standing.includes(mode) ? {} : null) },
      own: {},
      logger: pino({ level: 'silent' }),
      clock: () => NOW,
    };
    return doorOf(parts as unknown as DoorOptions).reopened();
  };
  const open = async () => (await sessions.everything()).map(({ subject, mode }) => `${subject.slice(-3)} ${mode}`);

  it('whoever is nobody any more since it stopped is told to the review service, and what he had open is ended', async () => {
    await sessions.open({ ...ADA, mode: 'operator-mtls 1' });
    await sessions.open({ ...BOB, mode: 'operator-mtls 2' });
    standing = ['operator-mtls 2'];
    await reopened();
    expect(told).toEqual([
      { subject: ADA.subject, tenant: 'acme', method: 'operator-mtls', role: 'none', since_ms: NOW, until_ms: null },
    ]);
    expect(await open()).toEqual(['bob operator-mtls 2']);
  });

  it('nobody is told of who has one session that stands among others that do not', async () => {
    for (const n of [1, 3, 4]) await sessions.open({ ...ADA, mode: `operator-mtls ${n}` });
    standing = ['operator-mtls 3'];
    await reopened();
    expect(told).toEqual([]);
    expect(await open()).toHaveLength(3);
  });

  it('people of another way to sign in than before are named as they were', async () => {
    await sessions.open({ subject: 'oidc:eve', tenant: 'acme', role: 'admin', mode: 'oidc 7' });
    await sessions.open({ subject: 'operator:dev', tenant: 'acme', role: 'admin', mode: 'operator-token' });
    await reopened();
    expect(told).toMatchObject([{ subject: 'oidc:eve', method: 'oidc', role: 'none' }]);
    // The review service knows operators and passkeys by itself.
    expect(await open()).toEqual(['dev operator-token']);
  });

  it('it goes on where the review service cannot be had', async () => {
    await sessions.open({ ...ADA, mode: 'operator-mtls 1' });
    await reopened(Promise.reject(new Error('no such service')));
    expect(await open()).toHaveLength(1);
  });
});
