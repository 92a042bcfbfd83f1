import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sha256Hex } from '../../domain/crypto/digest.js';
import { type KeyRing, parseKeyRing } from '../../domain/crypto/key-ring.js';
import { hilMigrations } from '../../migrations/hil.js';
import { ledgerPlace, STORES, type TestLedgerPlace } from '../../test/support/ledger.js';
import { openReviewStore, type WholeReviews } from '../../test/support/whole-reviews.js';

const T0 = Date.parse('2026-11-24T08:00:00.000Z');
const ANA = { tenant: 'acme', subject: 'operator:ana' };
const PASSKEY = { ...ANA, credential_id: 'key of ana', public_key: 'AAAA', counter: 0, created_ms: T0 };

describe.each(STORES)('the counter of a passkey: %s', (kind) => {
  let place: TestLedgerPlace;
  let store: WholeReviews;
  beforeEach(async () => {
    place = await ledgerPlace(kind, { migrated: hilMigrations });
    store = await openReviewStore({ target: place.target, payloadKeys: place.keys, clock: () => T0 });
    const id_sha256 = sha256Hex('a ceremony');
    await store.passkeys.begin({
      ...ANA,
      id_sha256,
      challenge_sha256: sha256Hex('a challenge'),
      purpose: 'first',
      created_ms: T0,
      expires_ms: T0 + 60_000,
    });
    await store.passkeys.complete(id_sha256, { ...PASSKEY, key_sha256: sha256Hex('AAAA') }, 'first');
  }, 60_000);
  afterEach(async () => {
    await store.close();
    await place.remove();
  });
  const use = (from: number, to: number) => store.passkeys.used(PASSKEY.credential_id, from, to);
  const counter = async () => (await store.passkeys.of(ANA.tenant, ANA.subject)).map((passkey) => passkey.counter);

  it('is used up once: the second use of the same one is none, and changes nothing', async () => {
    expect([await use(0, 1), await use(0, 2)]).toEqual([true, false]);
    expect(await counter()).toEqual([1]);
    expect([await use(1, 2), await counter()]).toEqual([true, [2]]);
  });

  it('is used up by one of several who use it at the same time', async () => {
    const uses = await Promise.all([use(0, 1), use(0, 1), use(0, 1), use(0, 1)]);
    expect(uses.filter((used) => used)).toHaveLength(1);
    expect(await counter()).toEqual([1]);
  });
});

describe.each(STORES)('who may approve with a passkey alone: %s', (kind) => {
  let place: TestLedgerPlace;
  beforeEach(async () => {
    place = await ledgerPlace(kind, { migrated: hilMigrations });
  }, 60_000);
  afterEach(async () => place.remove());

  /** Has her registered by a Gate that has these keys. */
  async function register(subject: string, payloadKeys: KeyRing): Promise<void> {
    const store = await openReviewStore({ target: place.target, payloadKeys, clock: () => T0 });
    const [person, id_sha256] = [{ tenant: 'acme', subject }, sha256Hex(subject)];
    const until = { created_ms: T0, expires_ms: T0 + 60_000 };
    await store.passkeys.allowRecovery(
      { ...person, token_sha256: id_sha256, expires_ms: until.expires_ms },
      { as: 'approver', at_ms: T0 },
    );
    await store.passkeys.begin({ ...person, ...until, id_sha256, challenge_sha256: id_sha256, purpose: 'recover' });
    const passkey = { ...PASSKEY, ...person, credential_id: subject, key_sha256: id_sha256 };
    expect(await store.passkeys.complete(id_sha256, passkey, 'recover')).toBe(true);
    await store.close();
  }

  it('a row whose key is not here is nobody, and hides nobody else', async () => {
    const gone = `gone:${'a1b2'.repeat(16)}`;
    const here = `here:${'c3d4'.repeat(16)}`;
    await register('webauthn:ana', parseKeyRing(gone));
    await register('webauthn:ben', parseKeyRing(`${here},${gone}`));
    const store = await openReviewStore({ target: place.target, payloadKeys: parseKeyRing(here), clock: () => T0 });
    expect(await store.passkeys.approvers('acme')).toEqual([{ subject: 'webauthn:ben', since_ms: null }]);
    await store.close();
  });
});
