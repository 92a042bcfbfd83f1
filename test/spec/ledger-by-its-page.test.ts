import { createDecipheriv, createHash, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DatabaseSync } from '@photostructure/sqlite';
import canonicalize from 'canonicalize';
import { PROJECT_ROOT } from '../../config/project-root.js';
import { parseKeyRing } from '../../domain/crypto/key-ring.js';
import { committed, ledgerPlace, type TestLedgerPlace, testRow } from '../support/ledger.js';
import { rowSigner } from '../support/row-signer.js';
import { openLedger } from '../support/whole-ledger.js';

/** A verifier as a stranger writes it from docs/architecture/ledger-rows.md: it takes nothing from the product but the file and its keys. */
const page = readFileSync(join(PROJECT_ROOT, 'docs/architecture/ledger-rows.md'), 'utf8');
const part = (heading: string): string => page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';

/** The fields by their numbers in the table, which has two of them in a line. */
const FIELDS = [...part('Fields').matchAll(/\| (\d+) \| `(\w+)`/g)]
  .map(([, number, name]) => [Number(number), String(name)] as const)
  .sort(([a], [b]) => a - b)
  .map(([, name]) => name);
/** The signed fields, from the colon to the end of their sentence. */
const SIGNED = [...(/absent ones as `null`:([^.]+)\./.exec(part('Signatures'))?.[1] ?? '').matchAll(/`(\w+)`/g)].map(
  ([, name]) => String(name),
);
/** Additional data and text of what is sealed, by its column. */
const SEALED = new Map(
  [...part('In the store').matchAll(/^\| `(\w+)` \| `([^`]+)` \| ([^|]*(?:\\\|)?[^|]*) \|$/gm)].map(
    ([, column, data, text]) =>
      [String(column), { data: String(data), text: String(text).replaceAll(/`|\\/g, '') }] as const,
  ),
);

const KEY = '00112233445566778899aabbccddeeff'.repeat(2);
const sha256 = (bytes: string | Buffer): string => createHash('sha256').update(bytes).digest('hex');
const JSON_FIELDS = ['policy_decision', 'brain_scores'];
type Row = Record<string, string | number | Uint8Array | null>;

const filled = (text: string, row: Row): string => text.replaceAll(/<(\w+)>/g, (_, name: string) => String(row[name]));

function opened(column: string, row: Row): Buffer {
  const bytes = Buffer.from(row[column] as Uint8Array);
  expect(bytes[0]).toBe(1);
  const from = 2 + (bytes[1] as number);
  expect(bytes.toString('latin1', 2, from)).toBe('sealing');
  const decipher = createDecipheriv('aes-256-gcm', Buffer.from(KEY, 'hex'), bytes.subarray(from, from + 12))
    .setAAD(Buffer.from(filled(SEALED.get(column)?.data ?? '', row)))
    .setAuthTag(bytes.subarray(-16));
  return Buffer.concat([decipher.update(bytes.subarray(from + 12, -16)), decipher.final()]);
}

const valueOf = (row: Row, field: string): unknown => {
  if (field === 'authorized') return row[field] === 1;
  return JSON_FIELDS.includes(field) && row[field] !== null ? (JSON.parse(String(row[field])) as unknown) : row[field];
};
const canonical = (row: Row): string =>
  `{${FIELDS.map((field) => `"${field}":${canonicalize(valueOf(row, field)) as string}`).join(',')}}`;

describe('what docs/architecture/ledger-rows.md says is enough to verify a ledger without Gate', () => {
  let place: TestLedgerPlace;
  const signer = rowSigner();
  const all = (query: string): Row[] => {
    const connection = new DatabaseSync((place.target as { file: string }).file, { readOnly: true });
    try {
      return connection.prepare(query).all() as Row[];
    } finally {
      connection.close();
    }
  };

  beforeEach(async () => {
    place = await ledgerPlace('sqlite');
    const sidecarKeys = parseKeyRing(`sealing:${KEY}`);
    const ledger = await openLedger({ target: place.target, sidecarKeys });
    const decision = { b: 1e-7, a: 'é\u2028"', forensic_identity: { event_id: 'e', stage: 's' } };
    const purged = testRow({ id: '44444444-4444-4444-8444-444444444444', ...committed({ gone: true }) });
    await ledger.append([testRow({ ...committed({ kept: 'ü' }), reasoning: '\u0001 "\\ \u{1f600}' }), purged]);
    await ledger.append([signer.row(new Date().toISOString(), { policy_decision: decision, authorized: false })]);
    await ledger.purgeSidecar(String(purged.id));
    await ledger.close();
  });
  afterEach(() => place.remove());

  it('the chain, from the first row to the head and its seal', () => {
    expect(FIELDS).toHaveLength(33);
    let previous = '0'.repeat(64);
    const rows = all('select * from ledger_entries order by seq');
    for (const [index, row] of rows.entries()) {
      expect([row['seq'], row['prev_hash']]).toEqual([index + 1, previous]);
      previous = sha256(`${previous}|${canonical(row)}`);
      expect(row['entry_hash']).toBe(previous);
    }
    const [head] = all('select * from ledger_head') as [Row];
    expect([head['length'], head['head_hash']]).toEqual([3, previous]);
    expect(opened('head_seal', head).toString()).toBe(filled(SEALED.get('head_seal')?.text ?? '', head));
  });

  it('the bytes beside rows, and the note of those that were purged', () => {
    const rows = all('select p.*, e.payload_sha256 from entry_payloads p join ledger_entries e on e.seq = p.entry_seq');
    const [kept, purged] = rows as [Row, Row];
    expect(sha256(opened('sealed', kept))).toBe(kept['payload_sha256']);
    expect(purged['sealed']).toBeNull();
    expect(opened('purge_seal', purged).toString()).toBe(filled(SEALED.get('purge_seal')?.text ?? '', purged));
  });

  it('the signature of a row, and the digests in the set of its keys', () => {
    expect(SIGNED).toHaveLength(20);
    const [row] = all('select * from ledger_entries where signature is not null') as [Row];
    const said = Object.fromEntries(SIGNED.map((field) => [field, valueOf(row, field)]));
    const { forensic_identity: _, ...decision } = said['policy_decision'] as Record<string, unknown>;
    const bytes = Buffer.from(
      sha256(`${'0'.repeat(64)}|${canonicalize({ ...said, policy_decision: decision }) as string}`),
      'hex',
    );
    const { lineage_sha256, audience, issuer, keys, sequence } = signer.document(Date.now());
    const [key] = keys;
    expect(verify(null, bytes, String(key?.public_key_pem), Buffer.from(String(row['signature']), 'base64'))).toBe(
      true,
    );
    expect(lineage_sha256).toBe(sha256(canonicalize({ audience, issuer, keys, sequence }) as string));
    expect(key?.public_key_sha256).toBe(sha256(String(key?.public_key_pem)));
  });
});
