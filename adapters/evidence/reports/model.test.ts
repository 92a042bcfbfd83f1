import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { LedgerEntry } from '../../../contracts/ledger.js';
import { ledgerPlace, STORES, type TestLedgerPlace, testRow } from '../../../test/support/ledger.js';
import { uuidFromDigest } from '../../../domain/crypto/digest.js';
import { type WholeLedger, openLedger } from '../../../test/support/whole-ledger.js';
import type { AgentQuery } from '../../../domain/ledger/ports.js';

const AT = Date.parse('2026-01-02T03:04:05.000Z');
const ROWS = 420;
const AGENTS = ['agent-a', 'agent-b', 'ägent', 'Agent-A'];
const TENANTS = ['acme', 'ACME', 'other', 'gone'];
const METHODS = ['proxy.verdict', 'brain.inspection', 'deep_review_finding'];
const SIGNALS = ['grant_expired', 'Grant_expired', 'decoy_tripped'];
const VERDICTS = ['Red', 'red', '100%', 'a_b', '"quoted"', 'back\\slash', 'é\u2028'];
const PREFIXES = ['0badcafe', '0badcaff'];

type Row = Record<string, unknown> & LedgerEntry;

/** Pseudo-random numbers with a fixed seed. */
function pickers(seed: number) {
  let state = seed;
  const below = (most: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * most);
  };
  return { below, pick: <Item>(items: readonly Item[]): Item => items[below(items.length)] as Item };
}

/** The expected result, found by looking at every row. */
function expected(rows: readonly Row[], agentId: string, query: AgentQuery): number[] {
  const { limit, offset = 0, before, after, from, to, seqFrom, seqTo, methods, signal, source, authorized } = query;
  const { tenant, demoPrefix, detail = {}, hiding = 'reads' } = query;
  const found = rows.filter((row) => {
    const decision = row.policy_decision ?? {};
    return (
      row.agent_id === agentId &&
      (before === undefined || row.seq < before) &&
      (after === undefined || row.seq > after) &&
      (from === undefined || row.timestamp >= from) &&
      (to === undefined || row.timestamp < to) &&
      (seqFrom === undefined || row.seq >= seqFrom) &&
      (seqTo === undefined || row.seq <= seqTo) &&
      (methods === undefined || methods.includes(row.method)) &&
      (signal === undefined || row['signal'] === signal) &&
      (source === undefined || row['source'] === source) &&
      (authorized === undefined || row.authorized === authorized) &&
      (demoPrefix === undefined
        ? tenant === undefined || row['tenant'] === tenant
        : row['source'] === 'simulator' || (row.correlation_id ?? '').startsWith(`${demoPrefix}-`)) &&
      (detail.verdict === undefined ||
        decision['verdict'] === detail.verdict ||
        decision['outcome'] === detail.verdict) &&
      (detail.reason === undefined ||
        decision['reason'] === detail.reason ||
        ((decision['reasons'] as string[] | undefined)?.includes(detail.reason) ?? false)) &&
      (hiding !== 'reads' || (row['tenant'] !== 'gone' && row['state_namespace'] !== 'demo')) &&
      (hiding !== 'erased' || row['tenant'] !== 'gone')
    );
  });
  const seqs = found.map((row) => row.seq);
  if (limit === undefined) return seqs.slice(offset);
  return (after === undefined ? seqs.toReversed() : seqs).slice(offset, offset + limit);
}

describe('every read finds what looking at every row finds, on both stores', () => {
  const places: TestLedgerPlace[] = [];
  const ledgers: WholeLedger[] = [];
  let rows: Row[];

  beforeAll(async () => {
    for (const kind of STORES) {
      const place = await ledgerPlace(kind);
      let now = AT;
      const ledger = await openLedger({ target: place.target, sidecarKeys: place.keys, clock: () => now });
      places.push(place);
      ledgers.push(ledger);
      const { below, pick } = pickers(11);
      for (let index = 0; index < ROWS; index += 3) {
        now += below(4) * 500;
        await ledger.append(
          [0, 1, 2].map((part) =>
            testRow({
              id: uuidFromDigest('model', String(index), String(part)),
              agent_id: pick(AGENTS),
              tenant: pick([...TENANTS, null]),
              method: pick(METHODS),
              signal: pick([...SIGNALS, null, null]),
              source: pick(['simulator', 'demo', null, null, null]),
              authorized: below(2) === 0,
              state_namespace: below(6) === 0 ? 'demo' : 'operator',
              correlation_id: pick([
                null,
                ...PREFIXES.map((prefix) => `${prefix}-1111-4111-8111-111111111111`),
                `${PREFIXES[0] as string}.1111`,
                PREFIXES[0] as string,
              ]),
              policy_decision: pick([
                null,
                { verdict: pick(VERDICTS), reason: pick(VERDICTS) },
                { outcome: pick(VERDICTS), reasons: [pick(VERDICTS), pick(VERDICTS)] },
                { nested: { verdict: pick(VERDICTS) }, note: `"verdict":"${pick(VERDICTS)}"` },
              ]),
            }),
          ),
        );
      }
    }
    rows = [];
    for await (const page of (ledgers[0] as WholeLedger).pages({ hiding: 'nothing' })) rows.push(...(page as Row[]));
    for (const ledger of ledgers) {
      await ledger.erasure.tombstoneTenant('gone');
      await ledger.erasure.cleanUpDemo();
    }
  }, 60_000);
  afterAll(async () => {
    for (const ledger of ledgers) await ledger.close();
    for (const place of places) await place.remove();
  });

  const seq = fc.integer({ min: 0, max: ROWS + 5 });
  const time = fc.integer({ min: -2_000, max: 120_000 }).map((ms) => new Date(AT + ms).toISOString());
  const maybe = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined, freq: 2 });
  const query: fc.Arbitrary<AgentQuery> = fc.record({
    limit: maybe(fc.integer({ min: 1, max: 90 })),
    offset: fc.option(fc.integer({ min: 0, max: 60 }), { nil: undefined, freq: 1 }),
    before: maybe(seq),
    after: maybe(seq),
    from: maybe(time),
    to: maybe(time),
    seqFrom: maybe(seq),
    seqTo: maybe(seq),
    methods: maybe(fc.subarray(METHODS, { minLength: 1 })),
    signal: maybe(fc.constantFrom(...SIGNALS)),
    source: maybe(fc.constantFrom('simulator', 'demo')),
    authorized: maybe(fc.boolean()),
    tenant: maybe(fc.constantFrom(...TENANTS)),
    demoPrefix: maybe(fc.constantFrom(...PREFIXES)),
    detail: maybe(
      fc.oneof(
        fc.record({ verdict: fc.constantFrom(...VERDICTS) }),
        fc.record({ reason: fc.constantFrom(...VERDICTS) }),
      ),
    ),
    hiding: fc.constantFrom('reads' as const, 'reads' as const, 'erased' as const, 'nothing' as const),
  });
  /** A few conditions at a time; all of them together match nothing. */
  const few = fc
    .tuple(
      query,
      fc.subarray(
        [
          'before',
          'after',
          'from',
          'to',
          'seqFrom',
          'seqTo',
          'methods',
          'signal',
          'source',
          'authorized',
          'tenant',
          'demoPrefix',
          'detail',
        ] as const,
        { maxLength: 3 },
      ),
    )
    .map(
      ([{ limit, offset, hiding, ...rest }, kept]): AgentQuery => ({
        limit,
        offset,
        hiding,
        ...Object.fromEntries(kept.map((key) => [key, rest[key]])),
      }),
    );

  it('an agent’s rows, and how many they are', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...AGENTS), few, async (agentId, asked) => {
        const wanted = expected(rows, agentId, asked);
        const all = expected(rows, agentId, { ...asked, limit: undefined, offset: 0 });
        for (const ledger of ledgers) {
          expect((await ledger.byAgent(agentId, asked)).map((row) => row.seq)).toEqual(wanted);
          expect(await ledger.agentCount(agentId, asked)).toBe(all.length);
        }
      }),
      { numRuns: 150, seed: 20_261_121 },
    );
  }, 120_000);

  it('the agents are those with a row that is shown', async () => {
    const shown = (row: Row) => row['tenant'] !== 'gone' && row['state_namespace'] !== 'demo';
    const wanted = new Set(rows.filter(shown).map((row) => row.agent_id));
    for (const ledger of ledgers) {
      const found = await ledger.agents();
      expect(new Set(found.filter((agent) => AGENTS.includes(agent)))).toEqual(wanted);
      expect(found).toEqual(found.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
    }
  });
});
