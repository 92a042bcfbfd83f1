import { describe, expect, it } from '@jest/globals';
import type { NewLedgerRow } from '../../../contracts/ledger.js';
import type { CryptographicVerification } from '../../../contracts/ledger-evidence.js';
import { fixture } from '../../../test/support/fixture.js';
import { ledgerPlace, STORES, type TestLedgerPlace, testRow } from '../../../test/support/ledger.js';
import { type RowSigner, rowSigner } from '../../../test/support/row-signer.js';
import { type WholeLedger, openLedger } from '../../../test/support/whole-ledger.js';
import type { LedgerOptions } from '../ledger-store.js';

const AT = Date.parse('2026-01-02T03:04:05.006Z');
const T = '2026-01-02T03:04:00.000Z';

describe.each(STORES)('row signatures on %s', (kind) => {
  let place: TestLedgerPlace;
  let ledger: WholeLedger;
  let signer: RowSigner;
  let document: (() => unknown) | null;
  const open = async (options: Partial<LedgerOptions> = {}) => {
    ledger = await openLedger({
      target: place.target,
      sidecarKeys: place.keys,
      clock: () => AT,
      keySet: async () => document?.() ?? Promise.reject(new Error('identity does not answer')),
      ...options,
    });
  };
  const reopen = async (options: Partial<LedgerOptions>) => {
    await ledger.close();
    await open(options);
  };

  const { sharedHere } = fixture(
    async () => {
      signer = rowSigner(['historical_trusted', 'active']);
      document = () => signer.document(AT);
      place = await ledgerPlace(kind);
      await open();
    },
    async () => {
      await ledger.close();
      await place.remove();
    },
  );

  const refused = async (...rows: NewLedgerRow[]) => {
    const error = await ledger.append(rows).then(
      () => null,
      (thrown: { code: string; fields: Record<string, unknown> }) => thrown,
    );
    expect((await ledger.head()).length).toBe(0);
    return [error?.code, error?.fields['reason']];
  };
  const cryptography = async () => (await ledger.verifyAssured()).cryptographic_verification;

  describe('on append', () => {
    it('keeps a signed row at the moment its signer wrote down, between rows of the ledger’s own time', async () => {
      await ledger.append([testRow(), signer.row(T), testRow()]);
      expect((await ledger.newest(3)).map(({ timestamp }) => timestamp)).toEqual([
        '2026-01-02T03:04:05.006Z',
        T,
        '2026-01-02T03:04:05.006Z',
      ]);
      expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: 3 });
    });

    it('takes the very row again, and refuses another under its id', async () => {
      const row = signer.row(T);
      await ledger.append([row]);
      expect((await ledger.append([row]))[0]).toMatchObject({ status: 'retained', seq: 1 });
      await expect(ledger.append([{ ...row, reasoning: 'other' }])).rejects.toMatchObject({
        code: 'signature_invalid',
      });
    });

    describe('of what nobody signed', () => {
      sharedHere();

      it.each([
        ['agent_id', { agent_id: 'agent-x' }],
        ['authorized', { authorized: false }],
        ['reasoning', { reasoning: 'x' }],
        ['policy_decision', { policy_decision: { allow: false } }],
        ['tenant', { tenant: null }],
        ['timestamp', { timestamp: '2026-01-02T03:04:00.001Z' }],
        ['id', { id: '11111111-1111-4111-8111-111111111111' }],
      ])('refuses a row whose %s is not what was signed', async (_, change) => {
        expect(await refused({ ...signer.row(T), ...change })).toEqual(['signature_invalid', 'signature_forged']);
      });

      it.each([
        ['a key nobody knows', { key_id: 'gate-identity:v9' }, 'key_missing'],
        ['a signature of 3 bytes', { signature: 'AAAA' }, 'signature_malformed'],
        ['the signature of another key', { key_id: 'gate-identity:v1' }, 'signature_forged'],
      ])('refuses %s', async (_, change, reason) => {
        expect(await refused({ ...signer.row(T), ...change })).toEqual(['signature_invalid', reason]);
      });

      it.each([
        ['without its timestamp', { timestamp: undefined }],
        ['without its id', { id: undefined }],
        ['with a timestamp in another form', { timestamp: '2026-01-02T03:04:00Z' }],
        ['with a day that does not exist', { timestamp: '2026-02-30T03:04:00.000Z' }],
        ['from the future', { timestamp: '2026-01-02T03:05:05.007Z' }],
        ['without a signature but with a timestamp', { signature: undefined, key_id: undefined }],
      ])('refuses a signed row %s', async (_, change) => {
        expect((await refused({ ...signer.row(T), ...change } as NewLedgerRow))[0]).toBe('signed_position_invalid');
      });
    });

    it('does not ask the signature about what the ledger adds and what is not signed', async () => {
      const row = signer.row(T, { policy_decision: { allow: true } });
      const added = { ...row, policy_decision: { allow: true, forensic_identity: { stage: 'x' } }, cost_micros: 5 };
      await ledger.append([added]);
      expect(await cryptography()).toMatchObject({ status: 'verified', verified_signed_rows: 1 });
    });

    it.each([
      ['retired', 'key_retired'],
      ['untrusted', 'key_untrusted'],
    ] as const)('refuses a key that is %s', async (state, reason) => {
      signer = rowSigner([state, 'active']);
      expect(await refused(signer.row(T, {}, 1))).toEqual(['signature_invalid', reason]);
    });

    it('refuses a key before its time', async () => {
      signer = rowSigner(['active'], '2026-01-02T03:04:00.001Z');
      expect(await refused(signer.row(T))).toEqual(['signature_invalid', 'key_not_yet_active']);
    });

    it('refuses one from the future where no keys are known, too', async () => {
      document = null;
      await ledger.close();
      ledger = await openLedger({ target: place.target, sidecarKeys: place.keys, clock: () => AT });
      const row = { ...signer.row(T), signature: 'AAAA', key_id: 'x:v1' };
      for (const timestamp of ['9999-12-31T23:59:59.999Z', '2026-01-02T03:05:05.007Z'])
        expect((await refused(testRow(), { ...row, timestamp }))[0]).toBe('signed_position_invalid');
      expect(await ledger.append([{ ...row, timestamp: '2026-01-02T03:05:05.006Z' }])).toHaveLength(1);
    });

    it.each([
      ['ahead', '2026-01-02T03:05:05.000Z'],
      ['long ago', T],
    ])('a signed row at the tail, from %s, moves the chain’s own clock neither forth nor back', async (_, signedAt) => {
      const clock = async (ms: number) => {
        await ledger.close();
        await open({ clock: () => ms });
      };
      const last = async () => (await ledger.newest(1))[0]?.timestamp;
      await ledger.append([testRow(), signer.row(signedAt)]);
      await ledger.append([testRow()]);
      expect(await last()).toBe('2026-01-02T03:04:05.006Z');
      await ledger.append([signer.row(signedAt)]);
      await clock(AT - 5);
      await ledger.append([testRow()]);
      expect(await last()).toBe('2026-01-02T03:04:05.006Z');
      await ledger.append([signer.row(signedAt)]);
      await clock(AT + 5);
      await ledger.append([signer.row(signedAt)]);
      await ledger.append([testRow()]);
      expect(await last()).toBe('2026-01-02T03:04:05.011Z');
      expect(await ledger.verify()).toMatchObject({ valid: true, entries_checked: 8 });
    });

    it('takes a lifecycle row that says its position once more, and refuses one that says another', async () => {
      const id = '22222222-2222-4222-8222-222222222222';
      const position = { contract: 'gate.lifecycle-signed-position/v1', id, timestamp: T };
      const row = (decision: Record<string, string>) =>
        signer.row(T, { id, event_kind: 'agent.suspended', policy_decision: decision });
      for (const wrong of [
        { ...position, id: '33333333-3333-4333-8333-333333333333' },
        { ...position, timestamp: '2026-01-02T03:04:01.000Z' },
        { ...position, more: 'x' },
        { contract: position.contract, id },
      ])
        expect((await refused(row(wrong)))[0]).toBe('signed_position_invalid');
      expect((await refused(testRow({ id, policy_decision: position })))[0]).toBe('signed_position_invalid');
      expect(await ledger.append([row(position)])).toMatchObject([{ status: 'created' }]);
    });

    it.each([
      ['the keys cannot be had', () => null, 'key_set_unavailable'],
      ['the key set is a minute too old', () => signer.document(AT - 181_000), 'key_set_stale'],
      ['the key set is of tomorrow', () => signer.document(AT + 86_400_000), 'key_set_stale'],
      [
        'the key set lives too long',
        () => signer.document(AT, { expires_at: '2026-01-02T03:07:00.000Z' }),
        'key_set_stale',
      ],
      ['the key set has another shape', () => ({ keys: [] }), 'key_set_unavailable'],
      ['the lineage is another', () => signer.document(AT, { lineage_sha256: 'ab'.repeat(32) }), 'key_substituted'],
      ['no key is active', () => rowSigner(['historical_trusted']).document(AT), 'key_set_unavailable'],
      [
        'the keys are not in order',
        () => {
          const { keys } = signer.document(AT);
          return signer.document(AT, { keys: [...keys].reverse() });
        },
        'key_set_unavailable',
      ],
    ])('stores nothing signed while %s', async (_, broken, reason) => {
      const row = signer.row(T);
      document = broken;
      expect(await refused(row)).toEqual(['verification_keys_unavailable', reason]);
      expect(await ledger.append([testRow()])).toMatchObject([{ status: 'created' }]);
    });

    it('does not go back to an older key set, nor to other keys under the same sequence', async () => {
      await ledger.append([signer.row(T)]);
      const row = signer.row(T);
      for (const older of [rowSigner(['active']), rowSigner(['historical_trusted', 'active'])]) {
        document = () => older.document(AT);
        await expect(ledger.append([row])).rejects.toMatchObject({
          code: 'verification_keys_unavailable',
          fields: { reason: 'key_set_rollback' },
        });
      }
    });
  });

  describe('on verify', () => {
    it('counts signed, verified and unsigned rows, and names the key set', async () => {
      await ledger.append([testRow(), signer.row(T), signer.row(T, {}, 1)]);
      expect(await cryptography()).toEqual({
        contract: 'gate.cryptographic-verification/v2',
        status: 'verified',
        key_set: {
          issuer: 'spiffe://gate.local/service/identity',
          audience: ['spiffe://gate.local/service/ledger', 'spiffe://gate.local/service/deep-review'],
          sequence: 2,
          generated_at: '2026-01-02T03:04:05.006Z',
          expires_at: '2026-01-02T03:06:05.006Z',
          lineage_sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
        },
        signed_rows: 2,
        verified_signed_rows: 2,
        unsigned_rows: 1,
        nothing_signed: false,
        legacy_unverifiable: null,
        first_failure: null,
        tsa: {
          required: false,
          anchors_observed: 0,
          rfc3161_observed: 0,
          verified: 0,
          failed: 0,
          trust_bundle_sha256: null,
          first_failure: null,
        },
      });
    });

    it('finds rows that were signed by a key that lost its trust since, and leaves the chain valid', async () => {
      await ledger.append([signer.row(T, {}, 1), signer.row(T)]);
      const { keys } = signer.document(AT);
      const lost = keys.map((key) => (key.kid.endsWith('v1') ? { ...key, state: 'untrusted' as const } : key));
      await reopen({ keySet: async () => signer.document(AT, { keys: lost }) });
      expect(await ledger.verifyAssured()).toMatchObject({
        valid: true,
        commitment: { length: 2 },
        cryptographic_verification: {
          status: 'invalid',
          signed_rows: 2,
          verified_signed_rows: 1,
          first_failure: { seq: 1, reason: 'key_untrusted' },
        },
      });
    });

    it('goes on behind what it checked before, unless all is asked for, the keys are others or the chain is not valid', async () => {
      const quick = async () =>
        (await ledger.verifyAssured({ sinceCheckpoint: true })).cryptographic_verification as CryptographicVerification;
      const counts = ({ signed_rows, verified_signed_rows, first_failure }: CryptographicVerification) => [
        signed_rows,
        verified_signed_rows,
        first_failure?.seq ?? null,
      ];
      await ledger.append(Array.from({ length: 130 }, () => signer.row(T)));
      expect(counts(await quick())).toEqual([130, 130, null]);
      await place.unlock();
      // A quick verification does not read checked rows again; only the next full one finds a change in them.
      await place.sql("update ledger_entries set reasoning = 'forged' where seq = 3");
      await ledger.append([signer.row(T), testRow(), signer.row(T)]);
      expect(counts(await quick())).toEqual([132, 132, null]);
      expect(counts(await quick())).toEqual([132, 132, null]);
      const next = rowSigner(['historical_trusted', 'historical_trusted', 'active']);
      const own = document;
      document = () => next.document(AT);
      expect(counts(await quick())).toEqual([132, 0, 1]);
      await reopen({});
      document = null;
      expect(await quick()).toMatchObject({ signed_rows: 132, verified_signed_rows: 0, key_set: null });
      document = own;
      expect(counts(await cryptography())).toEqual([132, 131, 3]);
      await place.sql("update ledger_entries set reasoning = 'read of a file the agent owns' where seq = 3");
      expect(counts(await quick())).toEqual([132, 132, null]);
      await place.sql("update ledger_entries set reasoning = 'forged' where seq = 3");
      expect(counts(await cryptography())).toEqual([132, 131, 3]);
    });

    it('is an answer, not an outage, where what was signed is no JSON any more', async () => {
      await ledger.append([signer.row(T), signer.row(T)]);
      await place.unlock();
      await place.sql("update ledger_entries set policy_decision = '{' where seq = 1");
      expect(await ledger.verifyAssured()).toMatchObject({
        valid: false,
        first_invalid_seq: 1,
        cryptographic_verification: {
          status: 'invalid',
          signed_rows: 2,
          verified_signed_rows: 1,
          first_failure: { seq: 1, reason: 'signature_forged' },
        },
      });
    });

    it('finds a signature that never held: a row written while nobody checked', async () => {
      await ledger.close();
      ledger = await openLedger({ target: place.target, sidecarKeys: place.keys, clock: () => AT });
      await ledger.append([testRow(), { ...signer.row(T), reasoning: 'forged' }]);
      await reopen({});
      expect(await cryptography()).toMatchObject({
        status: 'invalid',
        first_failure: { seq: 2, reason: 'signature_forged' },
      });
    });

    it('says so when the keys cannot be had, and commits all the same unless cryptography is required', async () => {
      await ledger.append([signer.row(T)]);
      document = null;
      const unavailable = { status: 'unavailable', key_set: null, signed_rows: 1, verified_signed_rows: 0 };
      expect(await ledger.verifyAssured()).toMatchObject({
        commitment: { length: 1 },
        cryptographic_verification: { ...unavailable, first_failure: { seq: null, reason: 'key_set_unavailable' } },
      });
      await reopen({ requireCryptography: true });
      const result = await ledger.verifyAssured();
      expect(result).toMatchObject({ valid: true, cryptographic_verification: unavailable });
      expect(result).not.toHaveProperty('commitment');
      document = () => signer.document(AT);
      expect(await ledger.verifyAssured()).toMatchObject({ commitment: { length: 1 } });
    });
  });

  it('reads by time find signed rows wherever they stand in the chain', async () => {
    await ledger.append([testRow(), testRow()]);
    await ledger.append([signer.row('2026-01-01T12:00:00.000Z', { agent_id: 'late' })]);
    await ledger.append([testRow()]);
    const seqs = async (from: string, to: string) => {
      const found: number[] = [];
      for await (const page of ledger.pages({ from, to })) found.push(...page.map(({ seq }) => seq));
      return found;
    };
    expect(await seqs('2026-01-01T00:00:00.000Z', '2026-01-02T00:00:00.000Z')).toEqual([3]);
    expect(await seqs('2026-01-02T00:00:00.000Z', '2026-01-03T00:00:00.000Z')).toEqual([1, 2, 4]);
    expect(await ledger.count({ from: '2026-01-01T00:00:00.000Z' })).toBe(4);
  });
});
