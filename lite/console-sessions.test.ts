import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type LocalFile, openLocalFile } from '../adapters/store/local-file.js';
import { sessionsIn } from './console-sessions.js';
import { liteMigrations } from './migrations.js';

const ADA = { subject: 'operator:ada', tenant: 'acme', role: 'admin', mode: 'operator-token' } as const;
type Sessions = ReturnType<typeof sessionsIn>;

describe('sessions of the console in lite', () => {
  let file: LocalFile;
  let sessions: Sessions;
  /** What the disk says next. */
  let synced: () => Promise<void>;
  beforeEach(async () => {
    file = await openLocalFile({ file: ':memory:', migrations: liteMigrations });
    synced = () => file.durable();
    sessions = sessionsIn({ store: file.store, durable: () => synced() }, Buffer.alloc(32, 1), () => 1_000);
  });
  afterEach(() => file.close());

  it.each<[string, (sessions: Sessions, id: string) => Promise<unknown>]>([
    ['one is opened', ({ open }) => open(ADA)],
    ['somebody enters with one', ({ enter }) => enter(ADA)],
    ['one is ended', ({ end }, id) => end(id)],
    ['somebody ends one of his own', ({ endOf }, id) => endOf(ADA, id)],
    ['all of a person are ended', ({ endAllOf }) => endAllOf(ADA)],
    ['those in other tenants are ended', ({ endElsewhere }) => endElsewhere({ subject: ADA.subject, tenant: null })],
    ['a search is kept', ({ searches }) => searches.save(ADA, { name: 'a', query: { tool: 'x' } })],
    ['a search is forgotten', ({ searches }) => searches.forget(ADA, 'a')],
  ])('are not said to be so where the disk does not take it: %s', async (_, act) => {
    await sessions.open(ADA);
    const [one] = await sessions.openOf(ADA);
    await expect(act(sessions, one?.id ?? '')).resolves.not.toThrow();
    synced = () => Promise.reject(new Error('the disk is full'));
    await expect(act(sessions, one?.id ?? '')).rejects.toThrow('the disk is full');
  });
});
