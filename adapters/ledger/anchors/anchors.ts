import { randomUUID } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import type { JsonObject } from '../../../contracts/json.js';
import type { Ledger } from '../../../contracts/ledger.js';
import type { Anchor, CryptographicFailure, CryptographicVerification } from '../../../contracts/ledger-evidence.js';
import { sha256Hex, uuidFromDigest } from '../../../domain/crypto/digest.js';
import { errorText } from '../../../domain/errors.js';
import { reading } from '../../../domain/ledger/chain-store.js';
import type { ChainHead } from '../../../domain/ledger/chain.js';
import { turn } from '../rows.js';
import { backOffMs } from '../../../domain/ledger/sweeps/back-off.js';
import type { LedgerTables } from '../../../domain/ledger/tables.js';
import { ownRow } from '../../../domain/ledger/own-rows.js';
import {
  readTimeStamp,
  TimeStampError,
  type TimeStampTrust,
  verifyTimeStamp,
} from '../../../domain/ledger/anchors/time-stamp.js';

interface AnchorTable extends Omit<Anchor, 'anchored_seq' | 'chain_match'> {
  id: string;
  anchored_seq: number | string;
  requested_at: string;
  attempts: number | string;
  next_attempt_at: string;
  last_error: string | null;
  proof: Uint8Array | null;
  noted: number | string;
}
export interface AnchorTables extends LedgerTables {
  chain_anchors: AnchorTable;
}

/** What a third party answered for a root. */
export interface AnchorProof {
  readonly bytes: Uint8Array;
  /** The time it proves; `null` when it proves none. */
  readonly genTime: string | null;
}

/** A third party that keeps a copy of the root. Throws unless it confirmed that. */
export interface AnchorSource {
  readonly source: Anchor['source'];
  anchor(root: {
    readonly seq: number;
    readonly entryHash: string;
    readonly requestedAt: string;
  }): Promise<AnchorProof>;
}

export interface AnchorSweep {
  readonly source: AnchorSource;
  /** The wait after the first failure. It doubles with each further one. */
  readonly intervalMs: number;
}

export interface Anchors {
  /**
   * Anchors the chain's head with one source, if rows other than anchor rows were appended since its last anchor, and retries pending
   * anchors (docs/architecture/ledger-rows.md#anchors). Called by a sweep; never delays an append. Returns how many anchors were confirmed
   * and how many attempts failed.
   */
  sweep(sweep: AnchorSweep): Promise<{ readonly anchored: number; readonly failed: number }>;
  /**
   * The newest 1,000 confirmed anchors, newest first. `mismatch` covers all confirmed anchors: whether any names a root that differs from
   * the chain's or lies beyond its end. Anchors of vacuumed entries are not compared.
   */
  found(): Promise<{ readonly anchors: Anchor[]; readonly mismatch: boolean | null }>;
  /** The verification result of the time stamps among them. */
  timeStamps(): Promise<CryptographicVerification['tsa']>;
  /** Lines of a bundle's `anchors.ndjson`, in portions: each anchor between the two places, with its proof in base64. */
  lines(seqLo: number, seqHi: number): AsyncGenerator<string[]>;
}

interface AnchorOptions {
  readonly db: Kysely<AnchorTables>;
  readonly head: () => Promise<ChainHead>;
  readonly append: Ledger['append'];
  readonly trust: TimeStampTrust | null;
  /** Whether a chain without a trusted time stamp is reported as a failure. */
  readonly timeStampsRequired: boolean;
  readonly clock: () => number;
}

const MAX_LISTED = 1_000;
const PAGE = 200;
const MAX_REMEMBERED = 20_000;

export function createAnchors(options: AnchorOptions): Anchors {
  const { db, head, append, trust, timeStampsRequired, clock } = options;
  const iso = (ms: number) => new Date(ms).toISOString();
  /** Results of earlier verifications by proof and root, which never change. */
  const verdicts = new Map<string, CryptographicFailure['reason'] | null>();

  /** Whether rows other than anchor rows were appended after that place. */
  async function movedSince(seq: number): Promise<boolean> {
    const row = await db
      .selectFrom('ledger_entries')
      .select('seq')
      .where('seq', '>', seq)
      .where(sql<string>`coalesce(event_kind, '')`, '<>', 'chain.root_anchored')
      .orderBy('seq')
      .limit(1)
      .executeTakeFirst();
    return row !== undefined;
  }

  async function request(source: Anchor['source']): Promise<void> {
    const newest = await db
      .selectFrom('chain_anchors')
      .select(['anchored_seq', 'status'])
      .where('source', '=', source)
      .orderBy('anchored_seq', 'desc')
      .limit(1)
      .executeTakeFirst();
    if (newest?.status === 'pending' || !(await movedSince(Number(newest?.anchored_seq ?? 0)))) return;
    const { length, hash } = await head();
    await db
      .insertInto('chain_anchors')
      .values({
        id: randomUUID(),
        anchored_seq: length,
        anchored_entry_hash: hash,
        source,
        status: 'pending',
        requested_at: iso(clock()),
        attempts: 0,
        next_attempt_at: iso(clock()),
        last_error: null,
        gen_time: null,
        proof: null,
        proof_sha256: null,
        anchored_at: null,
        noted: 0,
      })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }

  async function attempt(row: AnchorTable, { source, intervalMs }: AnchorSweep): Promise<boolean | null> {
    const attempts = Number(row.attempts) + 1;
    const claim = await reading(() =>
      db
        .updateTable('chain_anchors')
        .set({ attempts, next_attempt_at: iso(clock() + backOffMs(intervalMs, attempts)) })
        .where('id', '=', row.id)
        .where('status', '=', 'pending')
        .where('attempts', '=', row.attempts)
        .executeTakeFirstOrThrow(),
    );
    if (claim.numUpdatedRows === 0n) return null;
    const root = { seq: Number(row.anchored_seq), entryHash: row.anchored_entry_hash, requestedAt: row.requested_at };
    const outcome = await source.anchor(root).then(
      ({ bytes, genTime }) => ({
        status: 'anchored' as const,
        proof: Buffer.from(bytes),
        proof_sha256: sha256Hex(bytes),
        gen_time: genTime,
        anchored_at: iso(clock()),
        last_error: null,
      }),
      (error: unknown) => ({ status: 'pending' as const, last_error: errorText(error).slice(0, 500) }),
    );
    await reading(() =>
      db
        .updateTable('chain_anchors')
        .set(outcome)
        .where('id', '=', row.id)
        .where('status', '=', 'pending')
        .executeTakeFirstOrThrow(),
    );
    return outcome.status === 'anchored';
  }

  /** Appends a row for each confirmed anchor. After a crash before this, the next sweep does it. */
  async function note(): Promise<void> {
    const waiting = await reading(() =>
      db.selectFrom('chain_anchors').selectAll().where('status', '=', 'anchored').where('noted', '=', 0).execute(),
    );
    for (const row of waiting) {
      const said: JsonObject = {
        anchored_seq: Number(row.anchored_seq),
        anchored_entry_hash: row.anchored_entry_hash,
        source: row.source,
        proof_sha256: row.proof_sha256,
        gen_time: row.gen_time,
      };
      await append([ownRow('chain.root_anchored', uuidFromDigest('chain.root_anchored', row.id), said)]);
      await reading(() =>
        db.updateTable('chain_anchors').set({ noted: 1 }).where('id', '=', row.id).executeTakeFirstOrThrow(),
      );
    }
  }

  const confirmed = () =>
    db
      .selectFrom('chain_anchors as a')
      .leftJoin('ledger_entries as e', 'e.seq', 'a.anchored_seq')
      .where('a.status', '=', 'anchored');

  function faultOf(row: {
    readonly anchored_entry_hash: string;
    readonly proof: Uint8Array | null;
    readonly proof_sha256: string | null;
  }): CryptographicFailure['reason'] | null {
    const { anchored_entry_hash, proof, proof_sha256 } = row;
    if (trust === null) return 'tsa_trust_unavailable';
    if (proof === null || sha256Hex(proof) !== proof_sha256) return 'tsa_proof_digest_mismatch';
    const name = `${proof_sha256} ${anchored_entry_hash}`;
    const known = verdicts.get(name);
    if (known !== undefined) return known;
    let fault: CryptographicFailure['reason'] | null = null;
    try {
      verifyTimeStamp(readTimeStamp(proof, anchored_entry_hash), trust);
    } catch (error) {
      if (!(error instanceof TimeStampError)) throw error;
      fault = error.fault;
    }
    if (verdicts.size >= MAX_REMEMBERED) verdicts.clear();
    verdicts.set(name, fault);
    return fault;
  }

  return {
    async sweep(given) {
      const { source } = given.source;
      await reading(() => request(source));
      const due = await reading(() =>
        db
          .selectFrom('chain_anchors')
          .selectAll()
          .where('source', '=', source)
          .where('status', '=', 'pending')
          .where('next_attempt_at', '<=', iso(clock()))
          .orderBy('anchored_seq')
          .execute(),
      );
      let anchored = 0;
      let failed = 0;
      for (const row of due) {
        const outcome = await attempt(row, given);
        if (outcome === true) anchored += 1;
        if (outcome === false) failed += 1;
      }
      await note();
      return { anchored, failed };
    },
    found: () =>
      reading(async () => {
        const rows = await confirmed()
          .select([
            'a.anchored_seq',
            'a.anchored_entry_hash',
            'a.source',
            'a.status',
            'a.gen_time',
            'a.proof_sha256',
            'a.anchored_at',
            'e.entry_hash',
          ])
          .orderBy('a.anchored_seq', 'desc')
          .orderBy('a.source')
          .limit(MAX_LISTED)
          .execute();
        // Read after the anchors, so that no anchor can be of a later entry: a missing entry was cut off.
        const { length } = await head();
        const wrong = await confirmed()
          .select('a.id')
          .where((match) =>
            match.or([
              match('e.entry_hash', '<>', match.ref('a.anchored_entry_hash')),
              match.and([match('e.entry_hash', 'is', null), match('a.anchored_seq', '>', length)]),
            ]),
          )
          .limit(1)
          .executeTakeFirst();
        const listed = rows.map(({ entry_hash, ...row }) => ({
          ...row,
          anchored_seq: Number(row.anchored_seq),
          chain_match:
            entry_hash === null && Number(row.anchored_seq) <= length ? null : entry_hash === row.anchored_entry_hash,
        }));
        return { anchors: listed, mismatch: rows.length === 0 ? null : wrong !== undefined };
      }),
    timeStamps: () =>
      reading(async () => {
        const counts = await confirmed()
          .select((make) => make.fn.countAll().as('anchors'))
          .executeTakeFirstOrThrow();
        let observed = 0;
        let verified = 0;
        let first: CryptographicFailure | null = null;
        for (let after = 0; ; ) {
          const page = await db
            .selectFrom('chain_anchors')
            .select(['anchored_seq', 'anchored_entry_hash', 'proof', 'proof_sha256'])
            .where('status', '=', 'anchored')
            .where('source', '=', 'rfc3161')
            .where('anchored_seq', '>', after)
            .orderBy('anchored_seq')
            .limit(PAGE)
            .execute();
          for (const row of page) {
            const fault = faultOf(row);
            observed += 1;
            if (fault === null) verified += 1;
            else first ??= { seq: Number(row.anchored_seq), reason: fault };
          }
          const last = page.at(-1);
          if (!last || page.length < PAGE) break;
          await turn();
          after = Number(last.anchored_seq);
        }
        if (timeStampsRequired && observed === 0) first = { seq: null, reason: 'tsa_missing' };
        return {
          required: timeStampsRequired,
          anchors_observed: Number(counts.anchors),
          rfc3161_observed: observed,
          verified,
          failed: observed - verified,
          trust_bundle_sha256: trust?.sha256 ?? null,
          first_failure: first,
        };
      }),
    async *lines(seqLo, seqHi) {
      let [seq, name] = [seqLo, ''];
      for (;;) {
        const rows = await reading(() =>
          db
            .selectFrom('chain_anchors')
            .select([
              'anchored_seq',
              'anchored_entry_hash',
              'source',
              'gen_time',
              'proof',
              'proof_sha256',
              'anchored_at',
            ])
            .where('status', '=', 'anchored')
            .where('anchored_seq', '>=', seq)
            .where('anchored_seq', '<=', seqHi)
            .where((match) => match.or([match('anchored_seq', '>', seq), match(sql<string>`source`, '>', name)]))
            .orderBy('anchored_seq')
            .orderBy('source')
            .limit(PAGE)
            .execute(),
        );
        const last = rows.at(-1);
        if (!last) return;
        yield rows.map(({ proof, ...row }) =>
          JSON.stringify({
            ...row,
            anchored_seq: Number(row.anchored_seq),
            proof: Buffer.from(proof ?? []).toString('base64'),
          }),
        );
        if (rows.length < PAGE) return;
        [seq, name] = [Number(last.anchored_seq), last.source];
        await turn();
      }
    },
  };
}
