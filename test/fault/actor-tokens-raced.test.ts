import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openIdentityStore } from '../../adapters/identity/identity-store.js';
import { keyRing } from '../../domain/crypto/key-ring.js';
import { identityMigrations } from '../../migrations/identity.js';
import { actorClaims, newSigner, signedActor } from '../support/actor-token.js';
import type { Redeeming } from '../support/actor-token-redeemer.js';
import { endsWithThisProcess } from '../support/ends-with-this-process.js';
import { ledgerPlace, STORES, type TestLedgerPlace } from '../support/ledger.js';
import { seededRandom } from '../support/random.js';
import { eventually } from '../support/waiting.js';

const TOKENS = 10_000;
const PART = 100;
const KILLED = 2_000;
const TOGETHER = 16;
const ROUNDS = 4;
/** How far from its place a token is for the other process. */
const NEAR = 8;
const LIMIT_MS = 300_000;
const REDEEMER = fileURLToPath(new URL('../../dist/test/support/actor-token-redeemer.js', import.meta.url));

describe.each(STORES)('actor tokens that two processes redeem, on %s', (kind) => {
  let folder: string;
  let place: TestLedgerPlace;
  const key = randomBytes(32);
  const signer = newSigner();
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gate-actor-tokens-'));
    place = await ledgerPlace(kind, { migrated: identityMigrations, durable: true });
    const store = await openIdentityStore(place.target, keyRing(new Map([['test', key]])));
    await store.bundleSequence('first');
    await store.close();
  });
  afterAll(async () => {
    await place.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  const nowMs = Date.now();
  const signed = async (count: number): Promise<string> => {
    const file = join(folder, `${count}-tokens.json`);
    const tokens = await Promise.all(Array.from({ length: count }, () => signedActor(signer, actorClaims(nowMs))));
    writeFileSync(file, JSON.stringify(tokens));
    return file;
  };
  async function redeemer(name: string, tokens: string, order: readonly number[]) {
    const file = join(folder, `${name}-order.json`);
    writeFileSync(file, JSON.stringify(order));
    const asked: Redeeming = {
      target: place.target,
      key: key.toString('hex'),
      keys: [signer.publicJwk],
      tokens,
      order: file,
      together: TOGETHER,
      nowMs,
    };
    const child = spawn(process.execPath, [REDEEMER, JSON.stringify(asked)], { stdio: ['pipe', 'pipe', 'inherit'] });
    const ended = once(child, 'close');
    if (child.pid !== undefined) endsWithThisProcess(child.pid, ended);
    let text = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    const lines = () => text.split('\n').slice(0, -1);
    await eventually('it is ready', () => lines().includes('ready'));
    return {
      take: (count: number) => child.stdin.write(`${count}\n`),
      end: () => child.stdin.end(),
      /** What was said of each token so far. */
      answers: () =>
        new Map(
          lines()
            .slice(1)
            .map((line) => line.split(' '))
            .map(([at = '', said = '']) => [Number(at), said] as const),
        ),
      kill: () => child.kill('SIGKILL'),
      ended,
    };
  }
  /** The numbers of tokens in an order that a seed gives. */
  function shuffled(count: number, random: () => number): number[] {
    const left = Array.from({ length: count }, (_, at) => at);
    return Array.from({ length: count }, () => left.splice(Math.floor(random() * left.length), 1)[0] as number);
  }
  const uses = async () => (await place.sql('select id from identity_actor_uses')).length;

  it(
    `are used by one of the two, ${TOKENS} times`,
    async () => {
      const random = seededRandom(`actor tokens raced, ${kind}`);
      const order = shuffled(TOKENS, () => random.next());
      // The same order but for neighbours, so that the two meet at the same tokens.
      const other = [...order];
      for (let at = 0; at < TOKENS - NEAR; at += 1) {
        const to = at + Math.floor(random.next() * NEAR);
        [other[at], other[to]] = [other[to] as number, other[at] as number];
      }
      const tokens = await signed(TOKENS);
      const both = await Promise.all([redeemer('one', tokens, order), redeemer('other', tokens, other)]);
      // Together at each part, so that neither runs ahead of the other.
      for (let taken = PART; taken <= TOKENS; taken += PART) {
        for (const { take } of both) take(PART);
        await eventually('both took the part', () => both.every(({ answers }) => answers().size === taken));
      }
      for (const { end } of both) end();
      await Promise.all(both.map(({ ended }) => ended));
      const [one, two] = both.map(({ answers }) => answers()) as [Map<number, string>, Map<number, string>];
      const said = order.map((at) => [one.get(at), two.get(at)]);
      const isOnce = ([a, b]: readonly (string | undefined)[]) =>
        [a, b].includes('200') && [a, b].includes('jti_already_used');
      expect(said.filter((pair) => !isOnce(pair))).toEqual([]);
      const first = said.filter(([answer]) => answer === '200').length;
      // They were there at once: neither used them all.
      expect(Math.min(first, TOKENS - first)).toBeGreaterThan(TOKENS / 100);
      expect(await uses()).toBe(TOKENS);
    },
    LIMIT_MS,
  );

  it(
    'are used once where the process ends between the use and its answer',
    async () => {
      const random = seededRandom(`actor tokens killed, ${kind}`);
      const before = await uses();
      const tokens = await signed(KILLED);
      const order = shuffled(KILLED, () => random.next());
      const heard = new Map<number, string>();
      for (let round = 0; round < ROUNDS; round += 1) {
        const killed = await redeemer(`killed-${round}`, tokens, order);
        const enough = heard.size + Math.floor((random.next() * KILLED) / ROUNDS);
        killed.take(KILLED);
        const now = () => new Map([...heard, ...killed.answers()]);
        await eventually('some are answered', () => now().size >= enough);
        killed.kill();
        await killed.ended;
        for (const [at, said] of killed.answers()) {
          // What was answered before it is killed is never answered so again.
          if (heard.get(at) === '200') expect(said).toBe('jti_already_used');
          else heard.set(at, said);
        }
      }
      const last = await redeemer('last', tokens, order);
      last.take(KILLED);
      last.end();
      await last.ended;
      const again = last.answers();
      expect(again.size).toBe(KILLED);
      for (const at of order)
        if (heard.has(at)) expect(again.get(at)).toBe('jti_already_used');
        else expect(['200', 'jti_already_used']).toContain(again.get(at));
      expect((await uses()) - before).toBe(KILLED);
    },
    LIMIT_MS,
  );
});
