import type { Json, JsonObject } from '../../contracts/json.js';
import { itemsOf, membersOf, objectText } from './reply.js';

/**
 * Tasks of MCP (revision 2025-11-25, `basic/utilities/tasks`): a client that adds `task` to a tool call gets a handle at once, and the
 * answer when it asks for it. The id of a task is that of its call, and what is told of it comes from the call's record
 * (docs/architecture/mcp-sessions.md#tasks).
 */

/** The first revision with tasks. The one without sessions has them by an extension (`stateless.ts`). */
const TASKS_FROM = '2025-11-25';
export const servesTasks = (protocolVersion: string): boolean => protocolVersion >= TASKS_FROM;

/** Some clients repeat in every request about a task that they asked for one; there it asks for nothing. */
const OF_A_TASK: ReadonlySet<string> = new Set(['taskId', 'task', '_meta']);
/** The methods about tasks, with the members that `params` may have. Gate answers them itself. `tasks/update` is of the revision without sessions. */
export const TASK_METHODS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['tasks/get', OF_A_TASK],
  ['tasks/result', OF_A_TASK],
  ['tasks/cancel', OF_A_TASK],
  ['tasks/update', new Set(['taskId', 'inputResponses', '_meta'])],
  ['tasks/list', new Set(['cursor', '_meta'])],
]);

/** As long as a record is kept at least, and as a session lasts. */
export const TASK_LIFE_MS = 30 * 86_400_000;
const RELATED_TASK = 'io.modelcontextprotocol/related-task';

export type TaskStatus = 'working' | 'completed' | 'failed' | 'cancelled';
export const isOverFor = (status: TaskStatus): boolean => status !== 'working';

/** A call whose client asked for a task. */
export interface KeptTask {
  readonly correlationId: string;
  readonly createdMs: number;
  /** When it was asked for the last time. */
  readonly askedMs: number;
}
export interface TaskOwner {
  readonly tenant: string;
  readonly agent: string;
}

/**
 * Which calls are tasks, by agent. It decides nothing: what a task is, and whose, its call's record says. Of a call without a record nothing
 * is told but that it was asked for.
 */
export interface TaskStore {
  /** Kept again, it is the same task, asked for now. */
  keep(owner: TaskOwner, task: KeptTask): Promise<void>;
  of(owner: TaskOwner, correlationId: string): Promise<KeptTask | null>;
  /** The tasks of an agent behind `after`, the oldest first. */
  list(
    owner: TaskOwner,
    after: Pick<KeptTask, 'createdMs' | 'correlationId'> | null,
    limit: number,
  ): Promise<KeptTask[]>;
}

const isObject = (value: unknown): value is JsonObject =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/** Whether a tool call asks for a task. */
export const asksForTask = ({ params }: JsonObject): boolean => isObject(params) && params['task'] !== undefined;

/** What is wrong with what a request says of tasks; `null` when nothing is. */
export function taskFault(method: string, params: unknown): string | null {
  if (method === 'tasks/list') return null;
  if (TASK_METHODS.has(method)) {
    const id = isObject(params) ? params['taskId'] : undefined;
    return typeof id === 'string' && id.length <= 128 ? null : '`params.taskId` must be the id of a task';
  }
  const task = isObject(params) ? params['task'] : undefined;
  if (task === undefined) return null;
  if (!isObject(task)) return '`params.task` must be an object';
  const said = Object.entries(task).find(([name, value]) => !isTaskMember(name, value));
  return said === undefined ? null : '`params.task` has only `ttl` and `pollInterval`, which are numbers';
}

const isTaskMember = (name: string, value: Json | undefined): boolean =>
  (name === 'ttl' || name === 'pollInterval') && (value === null || (typeof value === 'number' && value >= 0));

/** The answer to `initialize` with the capability, where the upstream has tools. */
export const withTasks = (introduction: string): string =>
  withCapability(introduction, 'tasks', JSON.stringify({ list: {}, cancel: {}, requests: { tools: { call: {} } } }));

/** The same with log messages, because Gate itself tells in one that a call waits. What the upstream says of them stays. */
export const withLogging = (introduction: string): string => withCapability(introduction, 'logging', '{}');

function withCapability(introduction: string, name: string, text: string): string {
  const message = membersOf(introduction);
  const result = membersOf(message?.get('result') ?? '');
  const capabilities = membersOf(result?.get('capabilities') ?? '');
  if (!message || !result || !capabilities?.has('tools') || capabilities.has(name)) return introduction;
  const served = objectText(new Map(capabilities).set(name, text));
  return objectText(new Map(message).set('result', objectText(new Map(result).set('capabilities', served))));
}

/** A list of tools that says of each that it may be called as a task, because Gate makes the task. Everything else stays to the character. */
export function withTaskSupport(list: string): string {
  const message = membersOf(list);
  const result = membersOf(message?.get('result') ?? '');
  const tools = itemsOf(result?.get('tools') ?? '');
  if (!message || !result || !tools) return list;
  const told = tools.map((tool) => {
    const members = membersOf(tool);
    if (!members) return tool;
    const execution = new Map(membersOf(members.get('execution') ?? '') ?? []).set('taskSupport', '"optional"');
    return objectText(new Map(members).set('execution', objectText(execution)));
  });
  return objectText(new Map(message).set('result', objectText(new Map(result).set('tools', `[${told.join(',')}]`))));
}

/** An answer that was given under another id. */
export function underId(id: Json): (text: string) => string {
  return (text) => {
    const message = membersOf(text);
    return message ? objectText(new Map(message).set('id', JSON.stringify(id))) : text;
  };
}

/** The answer of a call as the answer to `tasks/result`: under the id of that request, and naming its task. */
export function resultOfTask(taskId: string, id: Json): (text: string) => string {
  const named = underId(id);
  return (text) => {
    const message = membersOf(named(text));
    const result = membersOf(message?.get('result') ?? '');
    if (!message || !result) return named(text);
    const meta = new Map(membersOf(result.get('_meta') ?? '') ?? []).set(RELATED_TASK, JSON.stringify({ taskId }));
    return objectText(new Map(message).set('result', objectText(new Map(result).set('_meta', objectText(meta)))));
  };
}

/** `_meta` of a message that belongs to a task. */
export const aboutTask = (taskId: string): JsonObject => ({ [RELATED_TASK]: { taskId } });
