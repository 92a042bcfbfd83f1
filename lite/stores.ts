import type { Kysely } from 'kysely';
import type { Logger } from 'pino';
import { callStoreInFile } from '../adapters/call/call-store.js';
import { sealCalls } from '../adapters/call/seal-calls.js';
import type { CallTables } from '../adapters/call/tables.js';
import { ledgerInFile } from '../adapters/ledger/ledger-in-file.js';
import { reviewStoreOver } from '../adapters/review/review-store.js';
import { sealReviews } from '../adapters/review/seal-reviews.js';
import type { ReviewTables } from '../adapters/review/tables.js';
import type { Store } from '../adapters/store/database.js';
import { openLocalFile } from '../adapters/store/local-file.js';
import { sessionStoreOver, type McpSessionTables } from '../adapters/mcp/session-store.js';
import { heldSubscriptionsOver, type SubscriptionTables } from '../adapters/mcp/held-subscriptions.js';
import { keptTasksOver, type TaskTables } from '../adapters/mcp/kept-tasks.js';
import { adoptClasses, toolClassStoreOver, type ToolClassTables } from '../adapters/tools/class-store.js';
import { adoptPins, adoptSeen, toolPinStoreOver, type ToolPinTables } from '../adapters/tools/pin-store.js';
import type { LiteConfig } from '../config/lite.js';
import { flowLog, type FlowSettings } from '../domain/information-flow/flow.js';
import type { KeyRing } from '../domain/crypto/key-ring.js';
import { boundToLedger } from '../domain/tool-classes/bound-to-ledger.js';
import { listCursors } from '../domain/mcp/list-cursors.js';
import { requestStates } from '../domain/mcp/request-state.js';
import { mcpSessions } from '../domain/mcp/session.js';
import { pinsLog } from '../domain/tool-definitions/watch.js';
import { liteMigrations } from './migrations.js';

export interface LiteStoresOptions {
  readonly file: string;
  readonly keys: KeyRing;
  /** The name under which the tools are classed and pinned. */
  readonly toolsName: string;
  readonly limits: Pick<LiteConfig, 'maxParkedCalls' | 'maxParkedBytes' | 'escalateShares'>;
  /** What is trusted of what agents read. */
  readonly flows: FlowSettings;
  readonly maxPages?: number | undefined;
  readonly beforeCommit?: (() => void) | undefined;
  readonly logger: Logger;
  readonly now: () => number;
}
export type LiteStores = Awaited<ReturnType<typeof openLiteStores>>;

/** The one file and every store in it. The content of an earlier version's file is sealed before anything else reads it. */
export async function openLiteStores({
  file: name,
  keys,
  toolsName,
  limits,
  flows,
  logger,
  now,
  ...tests
}: LiteStoresOptions) {
  const file = await openLocalFile({
    file: name,
    migrations: liteMigrations,
    async prepare(store) {
      await sealCalls(store as unknown as Store<CallTables>, keys, now, (transaction) =>
        adoptPins(transaction as unknown as Kysely<ToolPinTables>, keys, pinsLog(logger).onAdopted),
      );
      await adoptSeen(store as unknown as Store<ToolPinTables>, { keys, upstream: toolsName });
      await adoptClasses(store as unknown as Store<ToolClassTables>, keys);
      await sealReviews(store as unknown as Store<ReviewTables>, keys, now);
    },
    ...(tests.maxPages !== undefined && { maxPages: tests.maxPages }),
  });
  if (tests.beforeCommit) file.beforeCommit(tests.beforeCommit);
  const ledger = ledgerInFile(file, { sidecarKeys: keys, clock: now });
  const calls = callStoreInFile(file, { keys, now, ledger, flows, ...flowLog(logger) });
  const reviews = reviewStoreOver(file.store<ReviewTables>(), {
    payloadKeys: keys,
    clock: now,
    escalateShares: limits.escalateShares,
    perAgent: { rows: limits.maxParkedCalls, bytes: limits.maxParkedBytes },
    alone: (forget) =>
      file.onUndone(() => {
        forget();
        // Within the same turn, something read before the undo may still be put into memory after it.
        setImmediate(forget);
      }),
  });
  const pins = toolPinStoreOver(file.store<ToolPinTables>(), { keys, upstream: toolsName, now });
  const classes = boundToLedger(toolClassStoreOver(file.store<ToolClassTables>(), keys), ledger, { graceMs: 0 });
  const sessions = mcpSessions({ keys, store: sessionStoreOver(file.store<McpSessionTables>(), { now }), now });
  const states = requestStates({ keys, now });
  const cursors = listCursors({ keys });
  const tasks = keptTasksOver(file.store<TaskTables>(), { now });
  const subscriptions = heldSubscriptionsOver(file.store<SubscriptionTables>(), { keys, now });
  return { file, ledger, calls, reviews, pins, classes, sessions, states, cursors, tasks, subscriptions };
}
