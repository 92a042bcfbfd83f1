import type { FastifyRequest } from 'fastify';
import type { JsonObject } from '../../../contracts/json.js';
import { GateError } from '../../../domain/errors.js';
import { membersOf, objectText } from '../../../domain/mcp/reply.js';
import { declaresTasks, TASKS_EXTENSION } from '../../../domain/mcp/stateless.js';
import { isOver } from '../../../domain/probes/due.js';
import type { Answer } from '../answers.js';
import type { CallHandler } from '../calls.js';
import type { ControlRequest, Controls } from './controls.js';
import { within } from './event-streams.js';
import { type RpcForm, answerTo, resultTo, rpcAnswer } from '../rpc-answers.js';
import { type Joined, type StatelessCall, type StatelessCalls, textOf as questionText } from './stateless-calls.js';
import type { Known, TaskAsker, Tasks } from './tasks.js';

export interface StatelessTasksOptions {
  readonly tasks: Tasks;
  readonly handler: Pick<CallHandler, 'settled' | 'recorded'>;
  readonly controls: Pick<Controls, 'admit'>;
  /** What is asked of the clients of calls. */
  readonly calls: Pick<StatelessCalls, 'joined' | 'questions' | 'answer' | 'over'>;
  /** A call of which nothing is recorded by then, counted from when it was asked for, never began. */
  readonly unknownAfterMs: number;
  readonly now: () => number;
}

/** How long an answer is waited for before it becomes a task. */
const SOON_MS = 1_000;
const COMPLETE = { resultType: 'complete' };

/**
 * The extension `io.modelcontextprotocol/tasks` of revision 2026-07-28. The client says in each request that it knows tasks; Gate decides which
 * calls become one: those that wait for a person, and those that take long. What is told of a task comes from the record of its call.
 */
export function createStatelessTasks({ tasks, handler, controls, calls, unknownAfterMs, now }: StatelessTasksOptions) {
  /** The task as the extension has it, after `head`, with its end where there is one. */
  async function detailed(
    { caller, consoleUrl, opensUrls }: TaskAsker,
    known: Known,
    head: JsonObject,
  ): Promise<string> {
    const { kept, record } = known;
    // It may be asked for as often as its client likes, and is not over while a probe looks whether it ran.
    const again = { caller, correlationId: kept.correlationId, name: 'tasks/get' };
    const settled = await handler.settled(kept.correlationId, caller, now(), { again, isOver });
    const told = tasks.told(known, consoleUrl);
    const { ttl, pollInterval, status, ...task } = told;
    const rest = { ...task, ttlMs: ttl ?? null, ...(pollInterval !== undefined && { pollIntervalMs: pollInterval }) };
    if (settled) calls.over(kept.correlationId);
    const questions = settled ? [] : await calls.questions(kept.correlationId, opensUrls);
    if (questions.length > 0)
      return textOf(
        { ...head, ...rest, status: 'input_required', statusMessage: 'the tool asks its client something' },
        ['inputRequests', objectText(questions.map(questionText))],
      );
    if (!settled || status === 'cancelled')
      return textOf({ ...head, ...rest, status: settled ? 'cancelled' : 'working' });
    const form: RpcForm = { id: null, tool: record !== null, admitted: true, stateless: true };
    const answer = membersOf(rpcAnswer(form, settled.answer).body?.toString('utf8') ?? '');
    const error = answer?.get('error');
    // A refusal, and a failure that the tool tells itself, are results: only what JSON-RPC calls an error is a failed task.
    const { statusMessage, ...over } = rest as JsonObject;
    if (error !== undefined) return textOf({ ...head, ...rest, status: 'failed' }, ['error', error]);
    return textOf({ ...head, ...over, ...(record?.state !== 'completed' && { statusMessage }), status: 'completed' }, [
      'result',
      answer?.get('result') ?? '{}',
    ]);
  }

  async function answered(
    asker: TaskAsker,
    { form }: StatelessCall,
    { handled, question, admitted }: Joined,
    correlationId: string,
  ): Promise<Answer> {
    const askedMs = now();
    const first = handled();
    // If the call is recorded by then, the record has the answer.
    first.catch(() => undefined);
    const soon = await within(Promise.race([first, question]), SOON_MS);
    if (soon && soon.value.status !== 202) {
      if (!soon.value.whole) calls.over(correlationId);
      return rpcAnswer(form, soon.value);
    }
    // Under its key another call may be recorded, which is none of this request.
    if (!soon) await Promise.race([first, admitted]);
    if (!soon) await Promise.race([first, handler.recorded(correlationId, askedMs + unknownAfterMs)]);
    const known = await tasks.keep(asker.caller, correlationId, askedMs);
    if (known.record === null) return rpcAnswer(form, await first);
    const { ttl = null, pollInterval, ...task } = tasks.told(known, asker.consoleUrl);
    const made = {
      resultType: 'task',
      ...task,
      status: 'working',
      ttlMs: ttl,
      pollIntervalMs: pollInterval ?? SOON_MS,
    };
    return resultTo(form.id, made);
  }

  return {
    /** The task for a notification, with members of its own before it. Throws `task_not_found`. */
    told: async (asker: TaskAsker, taskId: string, head: JsonObject): Promise<string> =>
      detailed(asker, await tasks.known(asker.caller, taskId), head),

    /** The answer where it comes soon and waits for nobody, otherwise a task, once it is certain that asking for it finds it. */
    async answered(
      asker: TaskAsker,
      asked: StatelessCall,
      correlationId: string,
      answers?: ReadonlyMap<string, string>,
    ): Promise<Answer> {
      const joined = calls.joined(asked, correlationId, answers);
      try {
        return await answered(asker, asked, joined, correlationId);
      } catch (error) {
        joined.refused();
        throw error;
      }
    },

    /** `tasks/get`, `tasks/update`, `tasks/cancel`, within the agent's control limit. */
    async asked(
      request: FastifyRequest,
      asker: TaskAsker,
      { method, body }: ControlRequest,
      form: RpcForm,
      answers: ReadonlyMap<string, string>,
    ): Promise<Answer> {
      assertDeclared(body);
      await controls.admit(asker.caller, method, request.correlationId);
      const { taskId = '' } = (body['params'] ?? {}) as { taskId?: string };
      const known = await tasks.known(asker.caller, taskId);
      if (method === 'tasks/get')
        return answerTo({ status: 200, text: resultText(form, await detailed(asker, known, COMPLETE)), failed: false });
      // An answer to nothing that is asked now is ignored, as the extension has it.
      const tool = known.record?.evidence.call.tool;
      if (method === 'tasks/update' && tool !== undefined)
        await calls.answer(
          { caller: asker.caller, tool, opensUrls: asker.opensUrls ?? false },
          known.kept.correlationId,
          answers,
        );
      if (method === 'tasks/cancel') await tasks.cancel(asker, taskId).catch(unlessOver);
      return resultTo(form.id, COMPLETE);
    },
  };
}

/** Throws `client_capability_missing` where a request does not say that its client knows tasks. */
export function assertDeclared(body: JsonObject): void {
  if (declaresTasks(body)) return;
  throw new GateError('client_capability_missing', undefined, {
    fields: { requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } } },
  });
}

/** In this revision a cancellation is a wish: a call that cannot be withdrawn any more goes on, and `tasks/get` says so. */
function unlessOver(error: unknown): void {
  if (!(error instanceof GateError) || error.code !== 'task_not_cancellable') throw error;
}

/** An object of Gate's own with a member in somebody else's text. */
const textOf = (told: JsonObject, member?: readonly [string, string]): string =>
  objectText([
    ...Object.entries(told).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, JSON.stringify(value)]],
    ),
    ...(member ? [member] : []),
  ]);

const resultText = ({ id }: RpcForm, result: string): string =>
  objectText([
    ['jsonrpc', '"2.0"'],
    ['id', JSON.stringify(id)],
    ['result', result],
  ]);
