import type { JsonObject } from '../../../contracts/json.js';
import type { CallHandler } from '../calls.js';
import { HEARTBEAT_MS } from './event-streams.js';
import type { AgentCaller } from '../mcp-requests.js';
import { agentKey } from '../refusals.js';
import { standingOf, type TaskAsker, type Tasks } from './tasks.js';

/** So many open tasks of one agent are followed; its client asks about the others. */
const MOST_FOLLOWED = 50;

/**
 * `notifications/tasks/status` for whoever has the stream of a session open: when a task of its agent begins to wait for a person, waits no
 * more, and is over. Tasks that were open when the stream was opened are followed, and those that this process begins. Nothing depends on it: the
 * protocol tells clients to ask all the same.
 */
export function createTaskNews({
  tasks,
  handler,
  now,
}: {
  readonly tasks: Pick<Tasks, 'get' | 'open'>;
  readonly handler: Pick<CallHandler, 'changed'>;
  readonly now: () => number;
}) {
  const listening = new Map<string, Set<(taskId: string) => Promise<void>>>();
  const followed = new Map<string, Set<string>>();

  async function follow(caller: AgentCaller, taskId: string, told: string): Promise<void> {
    const key = agentKey(caller);
    const open = followed.get(key) ?? new Set<string>();
    if (!listening.has(key) || open.has(taskId) || open.size >= MOST_FOLLOWED) return;
    followed.set(key, open.add(taskId));
    let last = told;
    let version: number | null = null;
    try {
      for (let looked = false; listening.has(key); looked = true) {
        const record = await handler.changed(taskId, caller, version, now() + HEARTBEAT_MS);
        // Nothing is recorded of it, long after it was asked for: it never began.
        if (!record && looked) return;
        if (!record || record.version === version) continue;
        version = record.version;
        const { name, isOver } = standingOf(record);
        if (name !== last) await Promise.all([...(listening.get(key) ?? [])].map((tell) => tell(taskId)));
        last = name;
        if (isOver) return;
      }
    } catch {
      // Its client asks.
    } finally {
      open.delete(taskId);
      if (open.size === 0) followed.delete(key);
    }
  }

  function hear(caller: AgentCaller, tell: (taskId: string) => Promise<void>, signal: AbortSignal): void {
    const key = agentKey(caller);
    const heard = listening.get(key) ?? new Set();
    listening.set(key, heard.add(tell));
    signal.addEventListener('abort', () => {
      heard.delete(tell);
      if (heard.size === 0 && listening.get(key) === heard) listening.delete(key);
    });
  }

  return {
    /** Tells what becomes of the agent's tasks, until the signal. */
    async listen(asker: TaskAsker, told: (task: JsonObject) => void, signal: AbortSignal): Promise<void> {
      if (signal.aborted) return;
      hear(
        asker.caller,
        async (taskId) => {
          // Where it cannot be read now, its client asks: nobody is told an end that nobody saw.
          const task = await tasks.get(asker, taskId).catch(() => null);
          if (task !== null) told(task);
        },
        signal,
      );
      for (const { taskId, standing } of await tasks.open(asker.caller, MOST_FOLLOWED, signal).catch(() => []))
        void follow(asker.caller, taskId, standing);
    },

    /** Tells how these tasks stand, and what becomes of them, until the signal. */
    watch(
      caller: AgentCaller,
      taskIds: ReadonlySet<string>,
      told: (taskId: string) => Promise<void>,
      signal: AbortSignal,
    ): void {
      if (signal.aborted) return;
      const mine = async (taskId: string): Promise<void> => {
        if (taskIds.has(taskId)) await told(taskId);
      };
      hear(caller, mine, signal);
      for (const taskId of taskIds) {
        void mine(taskId);
        void follow(caller, taskId, 'working');
      }
    },

    /** A task that its client has just been told of, as `working`. */
    begun: (caller: AgentCaller, taskId: string): void => void follow(caller, taskId, 'working'),
  };
}
