import type { SavedSearches } from '../adapters/console/saved-searches.js';
import { type SessionStore, type SessionTables, sessionStoreOver } from '../adapters/console/session-store.js';
import type { LocalFile } from '../adapters/store/local-file.js';
import { SESSION_SECONDS } from '../contracts/console.js';

/** Sessions in lite's file. Whoever signed in or out, or ended a session, is told so when it is on disk. */
export function sessionsIn(
  file: Pick<LocalFile, 'store' | 'durable'>,
  key: Uint8Array,
  now: () => number,
): SessionStore & { readonly searches: SavedSearches } {
  const sessions = sessionStoreOver(file.store<SessionTables>(), { key, idleMs: SESSION_SECONDS * 1_000, clock: now });
  const onDisk = async <Value>(done: Promise<Value>): Promise<Value> => {
    const value = await done;
    await file.durable();
    return value;
  };
  return {
    ...sessions,
    open: (who) => onDisk(sessions.open(who)),
    enter: (who) => onDisk(sessions.enter(who)),
    end: (id) => onDisk(sessions.end(id)),
    endOf: (who, id) => onDisk(sessions.endOf(who, id)),
    endAllOf: (who) => onDisk(sessions.endAllOf(who)),
    endElsewhere: (who) => onDisk(sessions.endElsewhere(who)),
    searches: {
      list: (of) => sessions.searches.list(of),
      save: (of, search) => onDisk(sessions.searches.save(of, search)),
      forget: (of, name) => onDisk(sessions.searches.forget(of, name)),
    },
  };
}
