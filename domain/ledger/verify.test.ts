import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DatabaseSync } from '@photostructure/sqlite';
import fc from 'fast-check';
import { ledgerPlace, STORES, type TestLedgerPlace, testKeys, testRow } from '../../test/support/ledger.js';
import { someOf } from '../../test/support/some-of.js';
import { sha256Hex, uuidFromDigest } from '../crypto/digest.js';
import { CONTENT_FIELDS } from './canonical-bytes.js';
import { chainRows, EMPTY_CHAIN } from './chain.js';
import { ENTRY_COLUMNS } from './chain-store.js';
import { prepareRow } from './entry.js';
import { type WholeLedger, openLedger } from '../../test/support/whole-ledger.js';
import { sqliteChainReader } from '../../adapters/ledger/sqlite-chain.js';
import { createVerifier } from './verifier.js';

const id = (name: string) => uuidFromDigest('test', name);
const sidecarOf = (text: string) => ({ payload_sha256: sha256Hex(text), payload_canonical_json: text });
const LENGTH = 6;

/** Every optional column is set in some row and null in another. */
const ROWS = [
  testRow({ id: id('1'), ...sidecarOf('{"n":1}') }),
  testRow({
    id: id('2'),
    source: 'simulator',
    signal: 'grant_expired',
    approver_assertion: '{"subject":"s"}',
    signature: 'AAAA',
    key_id: 'gate-identity:v1',
    agent_name: 'a',
    actor_sub: 's',
    actor_idp: 'i',
    agent_kind: 'mcp',
    brain_scores: { drift_bp: 1 },
    tool_params_sha256: 'a'.repeat(64),
    credential_fingerprint: 'b'.repeat(64),
    upstream_id: 'u',
  }),
  testRow({ id: id('3'), brain_evidence_sha256: sha256Hex('{"n":3}'), brain_evidence_canonical_json: '{"n":3}' }),
  testRow({ id: id('4'), policy_decision: null, tenant: null, cost_micros: null, reasoning: '' }),
  testRow({ id: id('5'), authorized: false, state_namespace: 'demo', ...sidecarOf('{"n":5}') }),
  testRow({ id: id('6'), reasoning: 'ends with \ufffd' }),
];

describe.each(STORES)('any change of the chain is found, on %s', (kind) => {
  let place: TestLedgerPlace;
  let ledger: WholeLedger;
  const found = async () => {
    const { valid, first_invalid_seq: seq, first_invalid_reason: reason, commitment } = await ledger.verify();
    if (!valid) expect(commitment).toBeUndefined();
    return valid ? 'valid' : `${seq} ${String(reason)}`;
  };

  beforeEach(async () => {
    place = await ledgerPlace(kind);
    ledger = await openLedger({ target: place.target, sidecarKeys: place.keys });
    await ledger.append(ROWS);
    await place.unlock();
    expect(await found()).toBe('valid');
  });
  afterEach(async () => {
    await ledger.close();
    await place.remove();
  });

  it('each column of each row, in every way a value can change', async () => {
    const kinds = new Map<string, string>(CONTENT_FIELDS);
    const integers = ['chain_version', 'seq', 'authorized', 'cost_micros'];
    const rows = await place.sql('select * from ledger_entries order by seq');
    expect(rows).toHaveLength(LENGTH);
    for (const column of ENTRY_COLUMNS.filter((name) => name !== 'seq' && name !== 'chain_version')) {
      // Of the rows that hold something there, and of those that hold nothing, one each.
      const empty = (row: (typeof rows)[number]) => (row[column] ?? null) === null;
      const full = rows.filter((row) => !empty(row));
      for (const row of [...someOf(`full ${column}`, full, 1), ...someOf(`empty ${column}`, rows.filter(empty), 1)]) {
        const seq = Number(row['seq']);
        const value = row[column] ?? null;
        const changes: (string | number | null)[] = [];
        if (column === 'authorized') changes.push(1 - Number(value));
        else if (integers.includes(column)) changes.push(value === null ? 0 : Number(value) + 1);
        else if (value === null) changes.push(kinds.get(column) === 'json' ? '{}' : '');
        else changes.push(`${String(value)} `, '', String(value).slice(1), `${String(value)}x`);
        if (kinds.get(column) === 'json' && value !== null) changes.push('null', '{}', `{ ${String(value).slice(1)}`);
        const nullable =
          kinds.has(column) &&
          !['agent_id', 'method', 'intent_category', 'authorized', 'reasoning', 'state_namespace'].includes(column);
        if (nullable && value !== null) changes.push(null);
        for (const change of changes.filter((candidate) => candidate !== value)) {
          await place.sql(`update ledger_entries set ${column} = ? where seq = ?`, [change, seq]);
          const walk = await ledger.verify();
          expect([column, seq, change, walk.valid, walk.first_invalid_seq]).toEqual([column, seq, change, false, seq]);
          expect(walk.entries_checked).toBe(seq - 1);
        }
        await place.sql(`update ledger_entries set ${column} = ? where seq = ?`, [value, seq]);
      }
    }
    expect(await found()).toBe('valid');
  });

  it('a flipped character anywhere in the text of any row', async () => {
    const stored = await place.sql('select * from ledger_entries order by seq');
    const spots = stored.flatMap((row) =>
      ENTRY_COLUMNS.filter(
        (column) =>
          typeof row[column] === 'string' &&
          row[column] !== '' &&
          !/^(seq|chain_version|authorized|cost_micros)$/.test(column),
      ).map((column) => ({ seq: Number(row['seq']), column, text: String(row[column]) })),
    );
    const spot = fc.constantFrom(...spots).chain((where) =>
      fc.record({
        where: fc.constant(where),
        at: fc.nat(where.text.length - 1),
        char: fc.constantFrom('0', 'a', ' ', '"', '}', 'é'),
      }),
    );
    await fc.assert(
      fc.asyncProperty(spot, async ({ where: { seq, column, text }, at, char }) => {
        const changed = text.slice(0, at) + char + text.slice(at + 1);
        fc.pre(changed !== text);
        await place.sql(`update ledger_entries set ${column} = ? where seq = ?`, [changed, seq]);
        const walk = await ledger.verify();
        await place.sql(`update ledger_entries set ${column} = ? where seq = ?`, [text, seq]);
        expect([walk.valid, walk.first_invalid_seq]).toEqual([false, seq]);
      }),
      { numRuns: 60 },
    );
  });

  it('an unknown chain version: not valid, said as "upgrade the verifier", not as a seq', async () => {
    await place.sql('update ledger_entries set chain_version = 7 where seq = 3');
    expect(await ledger.verify()).toMatchObject({
      valid: false,
      first_invalid_seq: null,
      unsupported_chain_version: 7,
      entries_checked: 2,
    });
  });

  it.each([
    ['the first row', 1, '2 seq'],
    ['a row in the middle', 4, '5 seq'],
    // Nothing follows the newest row; only the retained head shows that it existed.
    ['the newest row', 6, '6 head'],
  ])('removal of %s', async (_, seq, where) => {
    await place.sql('delete from entry_payloads where entry_seq = ?', [seq]);
    await place.sql('delete from ledger_entries where seq = ?', [seq]);
    expect(await found()).toBe(where);
  });

  it('removal of the newest row with the head turned back: the seal does not follow', async () => {
    const [before] = await place.sql('select entry_hash from ledger_entries where seq = 5');
    await place.sql('delete from ledger_entries where seq = 6');
    await place.sql('update ledger_head set length = 5, head_hash = ?', [String(before?.['entry_hash'])]);
    expect(await found()).toBe('5 head');
  });

  it('removal of several rows, of all rows, and of the head', async () => {
    await place.sql('delete from entry_payloads');
    await place.sql('delete from ledger_entries where seq > 4');
    expect((await ledger.verify()).first_invalid_seq).toBe(1);
    await place.sql('delete from ledger_entries');
    expect(await found()).toBe('1 head');
    await place.sql('update ledger_head set length = 0, head_hash = ?', ['0'.repeat(64)]);
    expect(await found()).toBe('1 head');
  });

  it('removal of the head alone', async () => {
    await place.sql('delete from ledger_head');
    expect(await found()).toBe('7 head');
    await expect(ledger.append([testRow()])).rejects.toMatchObject({ code: 'ledger_store_unavailable' });
  });

  it('two rows that changed places', async () => {
    for (const [from, to] of [
      [2, 99],
      [4, 2],
      [99, 4],
    ] as const)
      await place.sql('update ledger_entries set seq = ? where seq = ?', [to, from]);
    expect(await found()).toBe('2 prev_hash');
  });

  it('a row that was moved away, or given another number', async () => {
    await place.sql('update ledger_entries set seq = 99 where seq = 4');
    expect(await found()).toBe('5 seq');
  });

  it('a row inserted in front, behind, and one with a hole before it', async () => {
    const insert = (seq: number, content: ReturnType<typeof prepareRow>, prevHash: string) => {
      const [row] = chainRows({ length: seq - 1, hash: prevHash }, [content], '2026-01-01T00:00:00.000Z');
      if (!row) throw new Error('no row');
      const cells = [row.seq, 6, row.id, row.timestamp, row.prevHash, ...row.values, row.entryHash];
      return place.sql(
        `insert into ledger_entries (${ENTRY_COLUMNS.join(', ')}) values (${ENTRY_COLUMNS.map(() => '?').join(', ')})`,
        cells,
      );
    };
    await insert(0, prepareRow(testRow()), EMPTY_CHAIN.hash);
    expect(await found()).toBe('0 seq');
    await place.sql('delete from ledger_entries where seq = 0');
    // Correctly chained, by somebody who can compute hashes but cannot seal the head.
    await insert(7, prepareRow(testRow()), (await ledger.head()).hash);
    expect(await found()).toBe('7 head');
    await expect(ledger.append([testRow()])).rejects.toMatchObject({ code: 'ledger_store_unavailable' });
    const [forged] = await place.sql('select entry_hash from ledger_entries where seq = 7');
    await insert(8, prepareRow(testRow()), String(forged?.['entry_hash']));
    expect(await found()).toBe('7 head');
    await place.sql('delete from ledger_entries where seq = 8');
    await place.sql('update ledger_entries set seq = ? where seq = 7', [1_000_000_000_000]);
    expect(await found()).toBe('1000000000000 seq');
  });

  it('a whole chain computed anew, head included, without the key', async () => {
    const stored = await place.sql('select timestamp from ledger_entries order by seq');
    const forged = ROWS.map((row, index) => prepareRow(index === 3 ? { ...row, reasoning: 'forged' } : row));
    const chained = forged.reduce<ReturnType<typeof chainRows>>((chain, row, index) => {
      const last = chain.at(-1);
      const head = last ? { length: last.seq, hash: last.entryHash } : EMPTY_CHAIN;
      return [...chain, ...chainRows(head, [row], String(stored[index]?.['timestamp']))];
    }, []);
    for (const row of chained)
      await place.sql('update ledger_entries set prev_hash = ?, entry_hash = ?, reasoning = ? where seq = ?', [
        row.prevHash,
        row.entryHash,
        String(row.values[4]),
        row.seq,
      ]);
    await place.sql('update ledger_head set head_hash = ?', [String(chained.at(-1)?.entryHash)]);
    expect(await found()).toBe('6 head');
    // The length was not touched; only the seal gives the forgery away.
    const [{ length = 0 } = {}] = await place.sql('select length from ledger_head');
    expect(Number(length)).toBe(LENGTH);
  });

  it('text moved over the border of a JSON column so that the hashed bytes stay the same', async () => {
    const [row] = await place.sql('select policy_decision, correlation_id from ledger_entries where seq = 6');
    const moved = `${String(row?.['policy_decision'])},"correlation_id":${JSON.stringify(row?.['correlation_id'])}`;
    await place.sql('update ledger_entries set policy_decision = ? where seq = 6', [moved]);
    expect(await found()).toBe('6 columns');
  });

  describe('sidecars', () => {
    it.each([
      ['removed', 'delete from entry_payloads where entry_seq = 3', '3 sidecar_missing'],
      ['emptied', 'update entry_payloads set sealed = null where entry_seq = 3', '3 sidecar_missing'],
      [
        'emptied with a forged note',
        "update entry_payloads set sealed = null, purged_at = '2026-01-01T00:00:00.000Z', purge_seal = sealed where entry_seq = 3",
        '3 sidecar_missing',
      ],
      [
        'noted as purged but still there',
        "update entry_payloads set purged_at = '2026-01-01T00:00:00.000Z' where entry_seq = 3",
        '3 sidecar_unexpected',
      ],
      [
        'of another row',
        'update entry_payloads set sealed = (select sealed from entry_payloads where entry_seq = 1) where entry_seq = 5',
        '5 sidecar_digest',
      ],
      ['given to another row', 'update entry_payloads set entry_seq = 2 where entry_seq = 1', '1 sidecar_missing'],
      [
        'added to a row without one',
        'insert into entry_payloads select 2, kind, entry_id, sealed, purged_at, purge_seal from entry_payloads where entry_seq = 1',
        '2 sidecar_unexpected',
      ],
      [
        'of the other kind',
        "update entry_payloads set kind = 'brain_evidence' where entry_seq = 1",
        '1 sidecar_missing',
      ],
    ])('%s', async (_, change, where) => {
      await place.sql(change);
      expect(await found()).toBe(where);
    });

    it('with one bit flipped', async () => {
      const [row] = await place.sql('select sealed from entry_payloads where entry_seq = 3');
      const sealed = Buffer.from(row?.['sealed'] as Buffer);
      sealed[sealed.length - 20] = (sealed[sealed.length - 20] as number) ^ 1;
      await place.sql('update entry_payloads set sealed = ? where entry_seq = 3', [sealed]);
      expect(await found()).toBe('3 sidecar_digest');
    });

    it('too large to be read together are read one by one', async () => {
      const large = (letter: string) => testRow(sidecarOf(JSON.stringify(letter.repeat(3_500_000))));
      await ledger.append([large('a'), large('b'), large('c')]);
      expect(await ledger.verify()).toMatchObject({ valid: true, sidecars: { checked: 6 } });
      await place.sql(
        'update entry_payloads set sealed = (select sealed from entry_payloads where entry_seq = 7) where entry_seq = 9',
      );
      expect(await found()).toBe('9 sidecar_digest');
    });

    it('whose purge note was taken from another row', async () => {
      await ledger.purgeSidecar(id('1'));
      await ledger.purgeSidecar(id('5'));
      expect(await found()).toBe('valid');
      await place.sql(
        'update entry_payloads set purged_at = ?, purge_seal = (select purge_seal from entry_payloads where entry_seq = 1) where entry_seq = 5',
        [String((await ledger.sidecar(id('1')))?.purged_at)],
      );
      expect(await found()).toBe('5 sidecar_missing');
    });
  });

  it('walks in pages and lets appends in between; its result is the chain as it stood at one moment', async () => {
    const rows = Array.from({ length: 500 }, () => testRow());
    await ledger.append(rows);
    const walk = ledger.verify();
    await Promise.all(Array.from({ length: 20 }, () => ledger.append([testRow()])));
    const result = await walk;
    expect(result.valid).toBe(true);
    expect(result.entries_checked).toBe(result.commitment?.length);
    expect(result.entries_checked).toBeGreaterThanOrEqual(LENGTH + 500);
    expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: LENGTH + 520 });
  });

  it('finds a change behind the first page, and a hole as wide as a page', async () => {
    await ledger.append(Array.from({ length: 500 }, () => testRow()));
    await place.sql("update ledger_entries set method = 'x' where seq = 345");
    expect(await ledger.verify()).toMatchObject({ first_invalid_seq: 345, entries_checked: 344 });
    await place.sql('delete from ledger_entries where seq > 5 and seq < 405');
    expect(await ledger.verify()).toMatchObject({ first_invalid_seq: 405, entries_checked: 5 });
  });

  const retained = async () => (await place.sql('select length, head_hash, head_seal from ledger_head'))[0];
  const putBack = async (head: Awaited<ReturnType<typeof retained>>) => {
    await place.sql('delete from ledger_entries where seq > ?', [head?.['length'] as number]);
    await place.sql('update ledger_head set length = ?, head_hash = ?, head_seal = ?', [
      head?.['length'] as number,
      head?.['head_hash'] as string,
      head?.['head_seal'] as Buffer,
    ]);
  };

  it('finds a chain that was put back to an earlier sealed head, for as long as it stays so', async () => {
    const head = await retained();
    await ledger.append([testRow(), testRow()]);
    expect(await found()).toBe('valid');
    await putBack(head);
    for (let walk = 0; walk < 2; walk++) {
      const result = await ledger.verify();
      expect(result).toMatchObject({ valid: false, first_invalid_seq: 7, first_invalid_reason: 'head' });
      expect(result).not.toHaveProperty('commitment');
    }
    // Other entries in place of those that were walked.
    await ledger.append([testRow(), testRow(), testRow()]);
    expect(await found()).toBe('8 entry_hash');
    expect(await ledger.verify({ sinceCheckpoint: true })).toMatchObject({ valid: false, first_invalid_seq: 8 });
  });

  it('finds one that ends before what a sink confirmed, also when it never saw the chain before', async () => {
    const head = await retained();
    await ledger.append([testRow(), testRow()]);
    await ledger.sinkCursors.confirmed('splunk', 7);
    await putBack(head);
    const fresh = await openLedger({ target: place.target, sidecarKeys: place.keys });
    expect(await fresh.verify()).toMatchObject({ valid: false, first_invalid_seq: 7, first_invalid_reason: 'head' });
    await fresh.append([testRow()]);
    expect(await fresh.verify()).toMatchObject({ valid: true });
    await fresh.close();
  });

  it('gives concurrent callers one walk', async () => {
    const walks = await Promise.all([ledger.verify(), ledger.verify(), ledger.verify()]);
    expect(walks[1]).toBe(walks[0]);
    expect(walks[2]).toBe(walks[0]);
    expect(await ledger.verify()).not.toBe(walks[0]);
  });

  describe('since the last valid walk', () => {
    const quick = () => ledger.verify({ sinceCheckpoint: true });

    it('adds up, and finds what changed behind the checkpoint', async () => {
      await ledger.append([testRow({ id: id('7') }), testRow({ id: id('8') })]);
      expect(await quick()).toMatchObject({ valid: true, entries_checked: 8, commitment: { length: 8 } });
      expect(await quick()).toMatchObject({ valid: true, entries_checked: 8 });
      await ledger.append([testRow()]);
      await place.sql("update ledger_entries set method = 'x' where seq = 9");
      expect(await quick()).toMatchObject({ valid: false, entries_checked: 8, first_invalid_seq: 9 });
    });

    it('finds a change of the checkpoint row and a tail cut at or before it', async () => {
      await place.sql("update ledger_entries set method = 'x' where seq = 6");
      expect(await quick()).toMatchObject({ valid: false, first_invalid_seq: 6 });
      await place.sql("update ledger_entries set method = 'proxy.verdict' where seq = 6");
      expect(await found()).toBe('valid');
      await place.sql('delete from ledger_entries where seq = 6');
      expect(await quick()).toMatchObject({ valid: false, first_invalid_seq: 6 });
    });

    it('is a full walk when there was none, or when the last one found something', async () => {
      const fresh = await openLedger({ target: place.target, sidecarKeys: place.keys });
      await place.sql("update ledger_entries set method = 'x' where seq = 2");
      expect(await fresh.verify({ sinceCheckpoint: true })).toMatchObject({ valid: false, first_invalid_seq: 2 });
      expect(await fresh.verify({ sinceCheckpoint: true })).toMatchObject({ valid: false, first_invalid_seq: 2 });
      await fresh.close();
    });
  });

  it('is `ledger_store_unavailable`, not a verdict, when the store cannot be read', async () => {
    await place.sql('alter table ledger_entries rename to gone');
    await expect(ledger.verify()).rejects.toMatchObject({ code: 'ledger_store_unavailable', status: 503 });
    await place.sql('alter table gone rename to ledger_entries');
    expect(await found()).toBe('valid');
  });

  if (kind === 'sqlite') {
    describe('bytes that a reader does not show', () => {
      it('behind a NUL at the end of a hash', async () => {
        await place.sql("update ledger_entries set entry_hash = entry_hash || char(0) || 'more' where seq = 2");
        expect(await found()).toBe('2 columns');
        await place.sql('update ledger_entries set entry_hash = substr(entry_hash, 1, 64) where seq = 2');
        await place.sql("update ledger_head set head_hash = head_hash || char(0) || 'more'");
        expect(await found()).toBe('6 head');
      });

      it('behind a NUL', async () => {
        await place.sql("update ledger_entries set reasoning = reasoning || char(0) || 'more' where seq = 2");
        expect(await found()).toBe('2 columns');
      });

      it('that are no UTF-8 and read as U+FFFD', async () => {
        // Three bytes of a four-byte character are read as one U+FFFD, which has three bytes itself.
        await place.sql("update ledger_entries set reasoning = 'ends with ' || cast(x'f09f98' as text) where seq = 6");
        expect((await ledger.newest(1))[0]?.reasoning).toBe('ends with \ufffd');
        expect(await found()).toBe('6 columns');
      });

      it('text in an integer column of a table that was made anew without types', async () => {
        const columns = ENTRY_COLUMNS.map((name) => {
          if (name === 'cost_micros') return name;
          return `${name} ${['seq', 'chain_version', 'authorized'].includes(name) ? 'integer' : 'text'}`;
        }).join(', ');
        await place.sql('alter table ledger_entries rename to typed');
        await place.sql(`create table ledger_entries (${columns}, deleted_at, demo_deleted_at)`);
        await place.sql(
          `insert into ledger_entries (${ENTRY_COLUMNS.join(', ')}) select ${ENTRY_COLUMNS.join(', ')} from typed`,
        );
        expect(await found()).toBe('valid');
        await place.sql("update ledger_entries set cost_micros = 'null' where cost_micros is null and seq = '4'");
        expect(await found()).toBe('4 columns');
        await place.sql("update ledger_entries set cost_micros = null where seq = '4'");
        const [row] = await place.sql("select cost_micros, brain_evidence_sha256 from ledger_entries where seq = '6'");
        expect(row?.['brain_evidence_sha256']).toBeNull();
        await place.sql(`update ledger_entries set cost_micros = '0,"brain_evidence_sha256":null' where seq = '6'`);
        expect(await found()).toBe('6 columns');
      });

      it('an integer too large for JavaScript', async () => {
        await place.sql('update ledger_entries set cost_micros = 9223372036854775807 where seq = 2');
        expect(await found()).toBe('2 columns');
      });
    });
  }
});

describe('without keys', () => {
  it('the chain is walked, and sidecars are counted as unchecked', async () => {
    const place = await ledgerPlace('sqlite');
    const ledger = await openLedger({ target: place.target, sidecarKeys: place.keys });
    await ledger.append(ROWS);
    await ledger.close();
    const { openLedgerReadOnly } = await import('../../adapters/ledger/read-only.js');
    const blind = openLedgerReadOnly((place.target as { file: string }).file);
    expect(await blind.verify()).toMatchObject({
      valid: true,
      entries_checked: LENGTH,
      sidecars: { checked: 0, purged: 0, unchecked: 3 },
    });
    await blind.close();
    await place.remove();
  });

  it('an invalid walk is not forgotten over one that began before it and did not look there', async () => {
    const place = await ledgerPlace('sqlite');
    const ledger = await openLedger({ target: place.target, sidecarKeys: place.keys });
    await ledger.append(ROWS);
    const connection = new DatabaseSync((place.target as { file: string }).file, { readOnly: true });
    const reader = sqliteChainReader(connection);
    const gates: Promise<void>[] = [];
    const told: boolean[] = [];
    const verifier = createVerifier(
      {
        ...reader,
        async bounds() {
          await gates.shift();
          return reader.bounds();
        },
      },
      place.keys,
      { onResult: ({ valid }) => told.push(valid) },
    );
    await verifier.verify();
    let open: () => void = () => undefined;
    gates.push(new Promise((resolve) => (open = resolve)));
    const quick = verifier.verify({ sinceCheckpoint: true });
    await place.unlock();
    await place.sql("update ledger_entries set method = 'x' where seq = 2");
    expect(await verifier.verify()).toMatchObject({ valid: false, first_invalid_seq: 2 });
    open();
    expect(await quick).toMatchObject({ valid: false, first_invalid_seq: 2 });
    expect(await verifier.verify({ sinceCheckpoint: true })).toMatchObject({ valid: false, first_invalid_seq: 2 });
    expect(told).toEqual([true, false, false, false]);
    connection.close();
    await ledger.close();
    await place.remove();
  });

  it('a reader that fails is an outage', async () => {
    const verifier = createVerifier(
      {
        bounds: () => Promise.reject(new Error('disk gone')),
        page: () => Promise.resolve([]),
        nextSeq: () => Promise.resolve(null),
        sidecars: () => Promise.resolve([]),
        sealedSidecar: () => Promise.resolve(null),
        cursors: () => Promise.resolve([]),
        vacuumed: () => Promise.resolve([]),
      },
      testKeys(),
    );
    await expect(verifier.verify()).rejects.toMatchObject({ code: 'ledger_store_unavailable' });
  });
});
