import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { JsonObject } from '../../contracts/json.js';
import { type NewLedgerRow, newLedgerRow } from '../../contracts/ledger.js';
import { sha256Hex } from '../crypto/digest.js';
import { GateError } from '../errors.js';
import { canonicalEntry, CONTENT_FIELDS } from './canonical-bytes.js';
import { prepareRow } from './entry.js';
import { entryHash } from './entry-hash.js';

interface Vector {
  name: string;
  position: { id: string; timestamp: string; seq: number; prev_hash: string };
  row: NewLedgerRow;
  canonical: string;
  entry_hash: string;
}
const { vectors } = JSON.parse(
  readFileSync(new URL('../../test/vectors/ledger-entry.json', import.meta.url), 'utf8'),
) as { vectors: Vector[] };

const ROW: NewLedgerRow = {
  id: '44444444-4444-4444-8444-444444444444',
  agent_id: 'agent-a',
  method: 'proxy.verdict',
  intent_category: 'Direct Execution',
  authorized: true,
  reasoning: '',
  policy_decision: null,
  state_namespace: 'operator',
};

function refusal(row: unknown): { code: string; field: unknown } {
  try {
    prepareRow(row as NewLedgerRow);
  } catch (error) {
    if (error instanceof GateError) return { code: error.code, field: error.fields['field'] ?? null };
    throw error;
  }
  throw new Error('the row was accepted');
}

const nested = (depth: number): JsonObject => (depth <= 1 ? {} : { a: nested(depth - 1) });

describe('canonical bytes and hash of an entry', () => {
  it.each(vectors)('agrees with the vector: $name', ({ position, row, canonical, entry_hash }) => {
    const prepared = prepareRow({ ...row, id: position.id });
    const text = canonicalEntry(
      {
        chainVersion: 6,
        id: position.id,
        timestamp: position.timestamp,
        seq: position.seq,
        prevHash: position.prev_hash,
      },
      prepared.content,
    );
    expect(text).toBe(canonical);
    expect(entryHash(position.prev_hash, text)).toBe(entry_hash);
  });

  it('has 33 keys in the order of the fields, absent values as null', () => {
    const text = canonicalEntry(
      { chainVersion: 6, id: 'i', timestamp: 't', seq: 1, prevHash: 'p' },
      prepareRow(ROW).content,
    );
    expect(Object.keys(JSON.parse(text) as object)).toEqual(
      (
        'chain_version id timestamp seq prev_hash agent_id method intent_category authorized reasoning policy_decision correlation_id ' +
        'source signal approver_assertion agent_spiffe signature key_id event_kind tenant agent_name actor_sub actor_idp payload_sha256 ' +
        'agent_kind cost_micros brain_evidence_sha256 brain_scores tool_params_sha256 credential_fingerprint upstream_id tool_name state_namespace'
      ).split(' '),
    );
  });

  it('holds every string and number so that JSON.parse gives back what was said', () => {
    const storable = fc.string({ unit: 'binary', maxLength: 60 }).filter((text) => !text.includes('\0'));
    const number = fc
      .oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.integer())
      .filter((value) => !Number.isInteger(value) || Number.isSafeInteger(value));
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        fc.constant(null),
        fc.boolean(),
        storable,
        number,
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(storable, tie('value'), { maxKeys: 4 }),
      ),
    }));
    fc.assert(
      fc.property(storable, fc.dictionary(storable, value, { maxKeys: 4 }), (reasoning, decision) => {
        const { content } = prepareRow({ ...ROW, reasoning, policy_decision: decision as JsonObject });
        const read = JSON.parse(`{${content}`) as NewLedgerRow;
        expect(read.reasoning).toBe(reasoning);
        // RFC 8785 writes -0 as 0, hence the JSON round trip of the expected value.
        expect(read.policy_decision).toEqual(JSON.parse(JSON.stringify(decision)));
        // The author's key order does not matter.
        const reversed = Object.fromEntries(Object.entries(decision).reverse());
        expect(prepareRow({ ...ROW, reasoning, policy_decision: reversed as JsonObject }).content).toBe(content);
      }),
      { numRuns: 300 },
    );
  });

  it('gives different rows different bytes, whichever field differs', () => {
    const base = prepareRow(ROW).content;
    const other: Record<string, unknown> = {
      authorized: false,
      policy_decision: {},
      brain_scores: {},
      cost_micros: 0,
      state_namespace: 'demo',
      tenant: 'acme',
    };
    const hex = new Set(['tool_params_sha256', 'credential_fingerprint']);
    const paired = new Set(['signature', 'key_id', 'payload_sha256', 'brain_evidence_sha256']);
    for (const [name] of CONTENT_FIELDS.filter(([field]) => !paired.has(field))) {
      const value = name in other ? other[name] : hex.has(name) ? 'a'.repeat(64) : 'other';
      expect([name, prepareRow({ ...ROW, [name]: value }).content === base]).toEqual([name, false]);
    }
  });

  it('takes null and absent for the same thing, and a missing id as a random UUID', () => {
    expect(prepareRow({ ...ROW, tenant: null }).content).toBe(prepareRow(ROW).content);
    const { id: _, ...anonymous } = ROW;
    expect(prepareRow(anonymous).id).not.toBe(prepareRow(anonymous).id);
  });

  it('ignores properties it does not know', () => {
    expect(prepareRow({ ...ROW, extra: { deep: 1 } } as NewLedgerRow).content).toBe(prepareRow(ROW).content);
  });
});

describe('what is refused at append, with its field', () => {
  const invalid: [string, Record<string, unknown>, string][] = [
    ['a lone high surrogate in text', { reasoning: 'a\ud800b' }, 'reasoning'],
    ['a lone low surrogate in text', { reasoning: '\udc00' }, 'reasoning'],
    ['U+0000 in text', { reasoning: 'a\0b' }, 'reasoning'],
    ['a lone surrogate inside policy_decision', { policy_decision: { a: ['\ud800'] } }, 'policy_decision'],
    ['a lone surrogate in a key of policy_decision', { policy_decision: { '\udfff': 1 } }, 'policy_decision'],
    ['U+0000 inside policy_decision', { policy_decision: { a: '\0' } }, 'policy_decision'],
    ['U+0000 in a key of brain_scores', { brain_scores: { '\0': 1 } }, 'brain_scores'],
    ['an integer over 2^53-1', { policy_decision: { a: 2 ** 53 } }, 'policy_decision'],
    ['an integer under -(2^53-1)', { brain_scores: { a: -(2 ** 53) } }, 'brain_scores'],
    ['NaN', { policy_decision: { a: Number.NaN } }, 'policy_decision'],
    ['Infinity', { policy_decision: { a: [Infinity] } }, 'policy_decision'],
    ['undefined inside JSON', { policy_decision: { a: undefined } }, 'policy_decision'],
    ['a function inside JSON', { policy_decision: { a: () => 1 } }, 'policy_decision'],
    ['a bigint inside JSON', { policy_decision: { a: 1n } }, 'policy_decision'],
    ['a Date inside JSON', { policy_decision: { a: new Date(0) } }, 'policy_decision'],
    ['nesting of 33', { policy_decision: nested(33) }, 'policy_decision'],
    [
      'nesting far beyond the stack',
      { policy_decision: JSON.parse(`{"a":${'['.repeat(1e5)}${']'.repeat(1e5)}}`) },
      'policy_decision',
    ],
    ['a policy_decision over 256 KiB', { policy_decision: { a: 'x'.repeat(262_144 - 7) } }, 'policy_decision'],
    [
      'a policy_decision over 256 KiB in bytes only',
      { policy_decision: { a: 'é'.repeat(140_000) } },
      'policy_decision',
    ],
    ['a policy_decision that is a list', { policy_decision: [] }, 'policy_decision'],
    ['a policy_decision that is text', { policy_decision: '{}' }, 'policy_decision'],
    ['a policy_decision that was not said', { policy_decision: undefined }, 'policy_decision'],
    ['an empty agent_id', { agent_id: '' }, 'agent_id'],
    ['an agent_id of 257', { agent_id: 'a'.repeat(257) }, 'agent_id'],
    ['a missing method', { method: undefined }, 'method'],
    ['an intent_category of 129', { intent_category: 'a'.repeat(129) }, 'intent_category'],
    ['authorized as a number', { authorized: 1 }, 'authorized'],
    ['a reasoning of 8193', { reasoning: 'a'.repeat(8193) }, 'reasoning'],
    ['a reasoning that is null', { reasoning: null }, 'reasoning'],
    ['a state_namespace that is neither', { state_namespace: 'test' }, 'state_namespace'],
    ['a state_namespace with a line behind it', { state_namespace: 'demo\n' }, 'state_namespace'],
    ['a correlation_id of 65', { correlation_id: 'a'.repeat(65) }, 'correlation_id'],
    ['a correlation_id that is a number', { correlation_id: 7 }, 'correlation_id'],
    ['a tenant with a slash', { tenant: 'a/b' }, 'tenant'],
    ['a negative cost', { cost_micros: -1 }, 'cost_micros'],
    ['a fractional cost', { cost_micros: 0.5 }, 'cost_micros'],
    ['a cost over 2^53-1', { cost_micros: 2 ** 53 }, 'cost_micros'],
    ['a digest with a prefix', { tool_params_sha256: `sha256:${'a'.repeat(57)}` }, 'tool_params_sha256'],
    ['a digest in capitals', { credential_fingerprint: 'A'.repeat(64) }, 'credential_fingerprint'],
    ['a key id without a version', { signature: 'AAAA', key_id: 'gate-identity' }, 'key_id'],
    ['a signature that is not base64', { signature: 'a b', key_id: 'k:v1' }, 'signature'],
    ['an id in capitals', { id: '44444444-4444-4444-8444-44444444444A' }, 'id'],
    ['an id that is null', { id: null }, 'id'],
  ];

  it.each(invalid)('%s', (_, change, field) => {
    expect(refusal({ ...ROW, ...change })).toEqual({ code: 'invalid_log_request', field });
  });

  it.each([null, 'row', 7, []])('a row that is no object: %p', (row) => {
    expect(refusal(row)).toEqual({ code: 'invalid_log_request', field: 'row' });
  });

  it('but takes everything at its bound', () => {
    const atBound = {
      ...ROW,
      agent_id: 'a'.repeat(256),
      reasoning: '\u{1f600}'.repeat(4096),
      policy_decision: { a: 'x'.repeat(262_144 - 8) },
      brain_scores: nested(32),
      cost_micros: Number.MAX_SAFE_INTEGER,
      signature: 'AAAA',
      key_id: 'gate-identity:v3',
    };
    expect(prepareRow(atBound).id).toBe(ROW.id);
  });

  it('never takes a row that the contract refuses', () => {
    const hostile = fc.oneof(
      fc.constantFrom('', '\0', '\ud800', 'a'.repeat(300), 'a'.repeat(70), -1, 1.5, 2 ** 53, null, true, [], {}),
      fc.string(),
    );
    const names = CONTENT_FIELDS.map(([name]) => name);
    fc.assert(
      fc.property(fc.constantFrom(...names), hostile, (name, value) => {
        const row = { ...ROW, [name]: value };
        if (newLedgerRow.safeParse(row).success) return;
        expect(() => prepareRow(row as NewLedgerRow)).toThrow(GateError);
      }),
      { numRuns: 500 },
    );
  });

  it('refuses a signature without its key id and the reverse', () => {
    expect(refusal({ ...ROW, signature: 'AAAA' }).code).toBe('partial_signature');
    expect(refusal({ ...ROW, key_id: 'gate-identity:v3' }).code).toBe('partial_signature');
  });
});

describe('sidecars of a row', () => {
  const text = '{"a":"é"}';
  const digest = sha256Hex(text);

  it('takes bytes that hash to the digest, of either kind', () => {
    expect(prepareRow({ ...ROW, payload_sha256: digest, payload_canonical_json: text }).sidecar).toEqual({
      kind: 'payload',
      text,
    });
    expect(
      prepareRow({ ...ROW, brain_evidence_sha256: digest, brain_evidence_canonical_json: text }).sidecar?.kind,
    ).toBe('brain_evidence');
  });

  it.each([
    ['bytes that hash to something else', { payload_sha256: digest, payload_canonical_json: `${text} ` }],
    ['a digest without bytes', { payload_sha256: digest }],
    ['bytes without a digest', { brain_evidence_canonical_json: text }],
    [
      'both modes on one row',
      {
        payload_sha256: digest,
        payload_canonical_json: text,
        brain_evidence_sha256: digest,
        brain_evidence_canonical_json: text,
      },
    ],
  ])('refuses %s', (_, change) => {
    expect(refusal({ ...ROW, ...change }).code).toBe('payload_commitment_invalid');
  });

  it.each([
    ['bytes that are no text', { payload_canonical_json: 7 }],
    ['a lone surrogate', { payload_canonical_json: '"\ud800"' }],
    ['more than 4 MiB', { payload_canonical_json: 'x'.repeat(4_194_305) }],
  ])('refuses %s', (_, change) => {
    expect(refusal({ ...ROW, payload_sha256: digest, ...change })).toEqual({
      code: 'invalid_log_request',
      field: 'payload_canonical_json',
    });
  });
});
