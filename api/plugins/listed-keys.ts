import { type ListedKeys, type ListedKeysOptions, openListedKeys } from '../../adapters/signing/listed-keys.js';
import type { Ledger } from '../../contracts/ledger.js';
import { createRepeated } from '../../domain/repeated.js';
import type { Opening } from './declaration.js';
import { needed } from './start.js';

const LOOK_EVERY_MS = 1_000;
const ROWS_EVERY_MS = 5_000;

/** The keys of a setting, looked at again every second for as long as the service runs, each stage with its row in the ledger. */
export async function openWatchedKeys(
  { logger, onStop }: Pick<Opening<never>, 'logger' | 'onStop'>,
  { variable, agent, ...options }: ListedKeysOptions & { readonly variable: string; readonly agent: string },
): Promise<{
  readonly keys: ListedKeys;
  /** Writes the rows from now on. */
  tell(ledger: Pick<Ledger, 'append'>): void;
  /** A readiness check: throws where what the file has now cannot be used. */
  assertKnown(): void;
}> {
  const { use } = options;
  const keys = await needed(variable, openListedKeys(options));
  let fault: string | null = null;
  const looking = createRepeated({
    work: () => keys.step(),
    everyMs: LOOK_EVERY_MS,
    onFault(reason) {
      fault = reason;
      if (reason === null) logger.info({ event: 'signing_keys_known', use }, 'the keys of the file are used again');
      else
        logger.error(
          { event: 'signing_keys_unknown', use, reason },
          'what the file of keys has now cannot be used; the keys before are',
        );
    },
  });
  // What came of it is heard by whoever asks whether the service is ready.
  looking.begin();
  onStop('sweeps', `the keys of ${use}`, () => looking.stop());
  return {
    keys,
    tell(ledger) {
      const told = new Set<string>();
      const telling = createRepeated({
        async work() {
          const rows = keys.rows(agent).filter(({ id }) => !told.has(String(id)));
          // One that the ledger has otherwise, as where somebody edited the list, keeps no other one back.
          const ends = await Promise.allSettled(
            rows.map(async (row) => {
              await ledger.append([row]);
              told.add(String(row.id));
            }),
          );
          for (const end of ends) if (end.status === 'rejected') throw end.reason;
        },
        everyMs: ROWS_EVERY_MS,
        longestPauseMs: 60_000,
        onFault: (reason) =>
          reason !== null &&
          logger.warn(
            { event: 'signing_key_rows_wait', use, reason },
            'the stages of keys are not in the ledger yet; they are told again',
          ),
      });
      void telling.once();
      telling.begin();
      onStop('sweeps', `the rows of the keys of ${use}`, () => telling.stop());
    },
    assertKnown() {
      if (fault !== null) throw new Error(`the keys of ${use}: ${fault}`);
    },
  };
}
