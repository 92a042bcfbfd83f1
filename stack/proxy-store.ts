import { join } from 'node:path';
import type { Kysely } from 'kysely';
import type { Logger } from 'pino';
import { storedSessions, type UpstreamSessionTables } from '../activities/stored-sessions.js';
import type { UpstreamSessions } from '../activities/upstream-sessions.js';
import type { Config } from '../config/env.js';
import type { SHARED_SETTINGS } from '../config/shared.js';
import type { HeldRows } from '../contracts/ledger.js';
import { callStoreOver } from '../adapters/call/call-store.js';
import { sealCalls } from '../adapters/call/seal-calls.js';
import { flowLog, type FlowSettings } from '../domain/information-flow/flow.js';
import type { KeyRing } from '../domain/crypto/key-ring.js';
import { openStore, type Store, type StoreTarget } from '../adapters/store/database.js';
import { schemaOf } from '../adapters/store/schema.js';
import { sessionStoreOver, type McpSessionTables } from '../adapters/mcp/session-store.js';
import { heldSubscriptionsOver, type SubscriptionTables } from '../adapters/mcp/held-subscriptions.js';
import { keptQuestionsOver, type QuestionTables } from '../adapters/mcp/kept-questions.js';
import { keptNotesOver, type NoteTables } from '../adapters/mcp/kept-notes.js';
import { keptTasksOver, type TaskTables } from '../adapters/mcp/kept-tasks.js';
import { adoptClasses, toolClassStoreOver, type ToolClassTables } from '../adapters/tools/class-store.js';
import type { ToolClassStore } from '../domain/tool-classes/class-sets.js';
import { adoptPins, adoptSeen, toolPinStoreOver, type ToolPinTables } from '../adapters/tools/pin-store.js';
import { type ListCursors, listCursors } from '../domain/mcp/list-cursors.js';
import { type RequestStates, requestStates } from '../domain/mcp/request-state.js';
import { type McpSessions, mcpSessions } from '../domain/mcp/session.js';
import type { SubscriptionStore } from '../domain/mcp/held-subscriptions.js';
import type { TaskStore } from '../domain/mcp/tasks.js';
import type { NoteStore } from '../domain/upstream/notes-apart.js';
import type { QuestionStore } from '../domain/upstream/talks-apart.js';
import { pinsLog } from '../domain/tool-definitions/watch.js';
import { callMigrations } from '../migrations/calls.js';
import { mcpQuestionMigrations } from '../migrations/mcp-questions.js';
import { mcpSessionMigrations } from '../migrations/mcp-sessions.js';
import { mcpTaskMigrations } from '../migrations/mcp-tasks.js';
import { toolClassMigrations } from '../migrations/tool-classes.js';
import { toolPinMigrations } from '../migrations/tool-pins.js';
import { upstreamSessionMigrations } from '../migrations/upstream-sessions.js';
import type { CallStore } from '../domain/call/ports.js';
import type { ToolPinStore } from '../domain/tool-definitions/ports.js';
import type { CallTables } from '../adapters/call/tables.js';

/** Where a store is kept: its schema in the deployment's Postgres, or its file under the state folder. */
export const storeTarget = (
  { databaseUrl, stateDir }: Pick<Config<typeof SHARED_SETTINGS>, 'databaseUrl' | 'stateDir'>,
  authority: string,
): StoreTarget =>
  databaseUrl ? { url: databaseUrl, schema: schemaOf(authority) } : { file: join(stateDir, 'data', `${authority}.db`) };

/**
 * The store of the proxy and its worker: the calls, about which the ledger knows more than this store does, and in the same place the tools
 * that its agents saw first, what operators said of them, the agents' sessions with the upstream, and those with Gate that they ended. `upstream` is the name under which
 * the tools are seen and classed. `calls.close` closes all of them.
 */
export async function openProxyStore(
  target: StoreTarget,
  {
    keys,
    upstream,
    ledger,
    flows,
    logger,
  }: {
    readonly keys: KeyRing;
    readonly upstream: string;
    readonly ledger?: HeldRows;
    readonly flows?: FlowSettings;
    readonly logger?: Logger;
  },
): Promise<{
  readonly calls: CallStore;
  readonly pins: ToolPinStore;
  readonly classes: ToolClassStore;
  readonly sessionsWith: (url: string) => UpstreamSessions;
  readonly mcpSessions: McpSessions;
  readonly mcpStates: RequestStates;
  readonly mcpCursors: ListCursors;
  readonly mcpTasks: TaskStore;
  readonly mcpSubscriptions: SubscriptionStore;
  readonly mcpQuestions: QuestionStore;
  readonly mcpNotes: NoteStore;
}> {
  const store = await openStore<CallTables & ToolPinTables & UpstreamSessionTables & McpSessionTables & TaskTables>(
    target,
    callMigrations,
    {
      pins: toolPinMigrations,
      sessions: upstreamSessionMigrations,
      tool_classes: toolClassMigrations,
      mcp_sessions: mcpSessionMigrations,
      mcp_tasks: mcpTaskMigrations,
      mcp_questions: mcpQuestionMigrations,
    },
  );
  try {
    await sealCalls(store as unknown as Store<CallTables>, keys, Date.now, (transaction) =>
      adoptPins(transaction as unknown as Kysely<ToolPinTables>, keys, logger && pinsLog(logger).onAdopted),
    );
    await adoptClasses(store as unknown as Store<ToolClassTables>, keys);
    await adoptSeen(store as unknown as Store<ToolPinTables>, { keys, upstream });
  } catch (error) {
    await store.close();
    throw error;
  }
  return {
    calls: callStoreOver(store as unknown as Store<CallTables>, {
      keys,
      ledger,
      flows,
      ...(logger && flowLog(logger)),
    }),
    pins: toolPinStoreOver(store as unknown as Store<ToolPinTables>, { keys, upstream }),
    classes: toolClassStoreOver(store as unknown as Store<ToolClassTables>, keys),
    mcpSessions: mcpSessions({
      keys,
      store: sessionStoreOver(store as unknown as Store<McpSessionTables>),
    }),
    mcpStates: requestStates({ keys }),
    mcpCursors: listCursors({ keys }),
    mcpTasks: keptTasksOver(store as unknown as Store<TaskTables>),
    mcpSubscriptions: heldSubscriptionsOver(store as unknown as Store<SubscriptionTables>, { keys }),
    mcpQuestions: keptQuestionsOver(store as unknown as Store<QuestionTables>, { keys }),
    mcpNotes: keptNotesOver(store as unknown as Store<NoteTables>, { keys }),
    sessionsWith: (url) => storedSessions(store as unknown as Store<UpstreamSessionTables>, { url, keys }),
  };
}
