import type { DatabaseSyncInstance } from '@photostructure/sqlite';
import { channelsOf } from '../../adapters/notification/channels.js';
import type { SettledReview } from '../../contracts/review.js';
import { sealReviews } from '../../adapters/review/seal-reviews.js';
import type { ReviewTables } from '../../adapters/review/tables.js';
import { openStore } from '../../adapters/store/database.js';
import { parseKeyRing } from '../../domain/crypto/key-ring.js';
import { placesOf } from '../../domain/notification/lines.js';
import { createNotifier } from '../../domain/notification/notifier.js';
import type { NoticeStore } from '../../domain/notification/ports.js';
import { hilMigrations } from '../../migrations/hil.js';
import { reviewStoreOver } from './whole-reviews.js';

/** What the process does, and where it is killed. */
export interface ReviewProcess {
  readonly file: string;
  readonly keys: string;
  readonly now: number;
  readonly does:
    | { readonly act: 'sweep'; readonly dies: Statement | 'before the log is emptied' }
    | { readonly act: 'erase'; readonly tenant: string; readonly dies: Statement | 'before the log is emptied' }
    | { readonly act: 'link'; readonly code: string; readonly dies: Statement }
    | { readonly act: 'settle'; readonly settlement: SettledReview; readonly dies: Statement }
    | { readonly act: 'tell'; readonly slackUrl: string; readonly dies: keyof NoticeStore };
}
/** After a statement of the transaction, and before the next one. */
export interface Statement {
  readonly after: 'insert' | 'update' | 'delete';
  readonly on: 'reviews' | 'review_keys' | 'hil_deletion_audit' | 'review_decisions' | 'chat_links' | 'chat_clicks';
  /** Which row it is that it changes, counted from one. */
  readonly row?: number;
}

const die = (): never => {
  process.kill(process.pid, 'SIGKILL');
  throw new Error('it lives');
};

function dieIn(sqlite: DatabaseSyncInstance, { after, on, row = 1 }: Statement): void {
  let rows = 0;
  sqlite.function('die', () => ((rows += 1) === row ? die() : null));
  sqlite.exec(`create temp trigger dies after ${after} on main.${on} begin select die(); end`);
}
function dieBeforeLogIsEmptied(sqlite: DatabaseSyncInstance): void {
  const prepare = sqlite.prepare.bind(sqlite);
  const value: typeof prepare = (text, ...more) => (text.includes('wal_checkpoint') ? die() : prepare(text, ...more));
  Object.defineProperty(sqlite, 'prepare', { value });
}

const { file, keys: text, now, does } = JSON.parse(process.argv[2] ?? '') as ReviewProcess;
const keys = parseKeyRing(text);
const clock = () => now;
const store = await openStore<ReviewTables>({ file }, hilMigrations);
await sealReviews(store, keys, clock);
const reviews = reviewStoreOver(store, { payloadKeys: keys, clock });

if (does.act === 'tell') {
  const notices: NoticeStore = { ...reviews.notices, [does.dies]: () => die() };
  const channels = channelsOf({
    timeoutMs: 5_000,
    slackDecides: false,
    teamsDecides: false,
    places: placesOf(undefined, Buffer.alloc(32, 7)),
    slack: { apiUrl: does.slackUrl, token: 'xoxb-0123456789', channel: 'C1' },
  });
  createNotifier({
    reviews,
    notices,
    channels,
    tenants: [],
    clock,
    observe: () => undefined,
    gaveUp: () => undefined,
    failed: (reason) => process.stderr.write(`${reason}\n`),
    lookMs: 20,
  }).start();
} else {
  if (!store.sqlite) throw new Error('a store in a file');
  if (does.dies === 'before the log is emptied') dieBeforeLogIsEmptied(store.sqlite);
  else dieIn(store.sqlite, does.dies);
  if (does.act === 'settle') await reviews.settle(does.settlement);
  else if (does.act === 'link')
    await reviews.chatLinks.upsert('acme', { oidc_sub: 'ada', slack_user_id: 'U1' }, does.code);
  else if (does.act === 'sweep') await reviews.sweep();
  else await reviews.erase({ tenant: does.tenant }, 'tenant_offboard', Number.MAX_SAFE_INTEGER);
}
