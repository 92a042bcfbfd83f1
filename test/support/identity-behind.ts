import { type Credential, createAuthority } from '../../adapters/identity/certificate-authority.js';
import { type IdentityStore, openIdentityStore } from '../../adapters/identity/identity-store.js';
import { administrators } from '../../api/identity/administrator.js';
import type { PeopleOptions } from '../../api/identity/people.js';
import type { Over } from '../../api/plugins/declaration.js';
import { overInProcess } from '../../api/plugins/over-in-process.js';
import type { Service } from '../../api/plugins/service.js';
import type { NewLedgerRow } from '../../contracts/ledger.js';
import { identityMigrations } from '../../migrations/identity.js';
import { identityOver, serviceCaller, TRUST_DOMAIN } from './identity-service.js';
import { ledgerPlace, type TestLedgerPlace } from './ledger.js';
import { takingLedger } from './taking-ledger.js';

const DAY_MS = 86_400_000;

/** Identity over a real store, as the console reaches it. */
export interface IdentityBehind {
  readonly over: Over;
  readonly service: Service;
  readonly place: TestLedgerPlace;
  readonly store: IdentityStore;
  /** With its key. */
  readonly ca: Credential;
  /** The rows that it brought to the ledger. */
  readonly told: readonly NewLedgerRow[];
  close(): Promise<void>;
}

export async function identityBehind(
  people: Pick<PeopleOptions, 'operators'> & Partial<PeopleOptions>,
  clock: () => number = Date.now,
): Promise<IdentityBehind> {
  const place = await ledgerPlace('sqlite', { migrated: identityMigrations });
  const store = await openIdentityStore(place.target, place.keys);
  // As the first start does, which marks the row of numbers.
  await store.bundleSequence('first');
  const ca: Credential = await createAuthority(TRUST_DOMAIN, {
    notBefore: new Date(clock() - DAY_MS),
    notAfter: new Date(clock() + 30 * DAY_MS),
  });
  const told: NewLedgerRow[] = [];
  const service = identityOver(ca, {
    store,
    ledger: takingLedger((rows) => told.push(...rows)),
    administratorOf: administrators(null),
    people,
    resolveCaller: () => serviceCaller('console'),
    clock,
  });
  await service.app.ready();
  return {
    over: overInProcess(service.app),
    service,
    place,
    store,
    ca,
    told,
    async close() {
      await service.close();
      await store.close();
      await place.remove();
    },
  };
}
