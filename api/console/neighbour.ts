import type { z } from 'zod';
import { createServiceClient, type Question, refusedBy } from '../../activities/clients/service-client.js';
import { surelyNotSent } from '../../activities/clients/unsent.js';
import { SERVICE_WORDS } from '../../console/services.js';
import { errorText, GateError } from '../../domain/errors.js';
import { within } from '../../domain/within.js';
import type { Over } from '../plugins/declaration.js';
import { addressAt } from './address-at.js';
import type { AskLimits } from './ask-limits.js';
import type { ReviewProof } from './sign-in/mode.js';

/**
 * The services that the console asks: whether each is told in the query whose rows are meant, and what it is shown of what proves the person. A
 * session of the review service is for that one alone.
 */
const NEIGHBOURS = {
  hil: { isToldInQuery: false, proved: (proof: ReviewProof) => proof },
  ledger: { isToldInQuery: true, proved: unproved },
  policy: { isToldInQuery: true, proved: unproved },
  brain: { isToldInQuery: true, proved: unproved },
  identity: { isToldInQuery: true, proved: ({ cookie: _session, ...proof }: ReviewProof): ReviewProof => proof },
  proxy: { isToldInQuery: false, proved: unproved },
} as const;
function unproved(_proof: ReviewProof): ReviewProof {
  return {};
}
export type NeighbourName = keyof typeof NEIGHBOURS;
export const NEIGHBOUR_NAMES = Object.keys(NEIGHBOURS) as readonly NeighbourName[];
/** Whether a service is shown anything of what proves the person. */
export const isProvedTo = (service: NeighbourName, proof: ReviewProof): boolean =>
  Object.keys(NEIGHBOURS[service].proved(proof)).length > 0;

/** Where a service is. One that is nowhere is away, as where no page is about it. */
export type NeighbourOver = Promise<Over> | undefined;
export type NeighboursAt = Readonly<Partial<Record<NeighbourName, Promise<Over>>>>;

/** In whose name a service is asked. */
export interface AskedFor {
  /** Whose rows every question is about; `null`: those of all tenants. */
  readonly tenant: string | null;
  /** What proves the person; for the review service and for identity alone. */
  readonly proof?: ReviewProof;
  /** `readMs` is how long a service that is being started is waited for. */
  readonly limits: Pick<AskLimits, 'readMs'>;
}

export interface NeighbourQuestion {
  readonly method: Question['method'];
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** An object is sent as JSON, a text as it stands. */
  readonly body?: object | string;
  /** What it may have done where no answer came, as a sentence. */
  readonly doubt?: string;
  /** It is about what is nobody's: the query says no tenant. */
  readonly isOfAll?: true;
}

/** What stays in doubt about a decision of which no answer came. */
export const MAY_BE_DECIDED = 'It may have taken the decision: look at the call before you decide again.';

type Streamed = Awaited<ReturnType<Over['fetch']['stream']>>;

/**
 * A service as one person may ask it. Whatever it is asked, it answers in time or is away: `console_neighbour_away`, which names it. What is
 * thrown, also what the service refused, is an error of that service.
 */
export interface Neighbour {
  /** What it says, which is of this type (`null`: of none). Throws also what it refused. */
  ask<Type extends z.ZodType | null>(
    type: Type,
    question: NeighbourQuestion & { readonly body?: object },
    timeoutMs?: number,
  ): Promise<Type extends z.ZodType ? z.infer<Type> : null>;
  /** Its answer as it stands, a refusal too. */
  pass(
    question: NeighbourQuestion,
    timeoutMs: number,
  ): Promise<{ readonly status: number; readonly setCookies: readonly string[]; readonly text: string }>;
  /** Its answer as it comes, which begins within `answerMs`. Whoever asks ends it by `signal`, also where this throws. */
  stream(
    question: NeighbourQuestion,
    how: { readonly signal: AbortSignal; readonly answerMs: number },
  ): Promise<Streamed>;
  /** What an answer is that was asked for as it comes, and is a refusal. */
  refusal(answer: Pick<Streamed, 'status' | 'text'>): Promise<GateError>;
}

/** The one way in which the console asks another service: where it is, how long that is waited for, and for whom. */
export function neighbourOf(
  service: NeighbourName,
  over: NeighbourOver,
  { tenant, proof = {}, limits }: AskedFor,
): Neighbour {
  const name = SERVICE_WORDS[service];
  const { isToldInQuery, proved } = NEIGHBOURS[service];
  const awayWith =
    (doubt?: string) =>
    (detail: string, cause?: unknown): GateError =>
      // Without a connection nobody read a byte of it.
      doubt === undefined || surelyNotSent(cause)
        ? new GateError('console_neighbour_away', detail, { cause })
        : new GateError('console_neighbour_away', `${detail}. ${doubt}`, { cause, fields: { in_doubt: true } });
  const away = awayWith();
  const lost = (doubt: string | undefined, cause: unknown) =>
    awayWith(doubt)(`${name} cannot be reached: ${errorText(cause)}`, cause);

  const pathOf = ({ path, query = {}, isOfAll }: NeighbourQuestion): string => {
    const tenants = isToldInQuery && !isOfAll && tenant !== null ? { tenant } : {};
    const given = Object.entries({ ...tenants, ...query, ...tenants }).flatMap(([key, value]) =>
      value === undefined ? [] : [[key, String(value)]],
    );
    return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
  };
  const headersOf = ({ headers, body }: NeighbourQuestion): Record<string, string> => ({
    ...proved(proof),
    ...(tenant !== null && { 'x-gate-tenant-scope': tenant }),
    ...(typeof body === 'object' && { 'content-type': 'application/json' }),
    ...headers,
  });
  const bodyOf = ({ body }: NeighbourQuestion) =>
    body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) };
  /** Where it is, and how much of the time is left. Nothing is asked yet, so nothing is in doubt. */
  const reached = async (question: NeighbourQuestion, timeoutMs: number) => {
    if (over === undefined) throw away(`${name} is not asked here`);
    const began = performance.now();
    const waitMs = Math.min(timeoutMs, limits.readMs);
    let at: Over;
    try {
      at = await within(waitMs, over, () => away(`${name} is not there yet`));
    } catch (error) {
      throw error instanceof GateError ? error : lost(undefined, error);
    }
    const path = pathOf(question);
    const leftMs = Math.max(1, Math.round(timeoutMs - (performance.now() - began)));
    return { at, path, address: addressAt(at.url, path), leftMs };
  };

  const neighbour: Neighbour = {
    async ask(type, { doubt, ...question }, timeoutMs = limits.readMs) {
      const { at, path, leftMs } = await reached(question, timeoutMs);
      const { method, body } = question;
      const asked = { method, path, timeoutMs: leftMs, headers: headersOf(question), ...(body && { body }) };
      return createServiceClient(name, at, awayWith(doubt))(type, asked);
    },
    async pass(question, timeoutMs) {
      const { at, address, leftMs } = await reached(question, timeoutMs);
      try {
        const answer = await at.fetch(address, {
          method: question.method,
          headers: headersOf(question),
          ...bodyOf(question),
          signal: AbortSignal.timeout(leftMs),
        });
        return { status: answer.status, setCookies: answer.setCookies ?? [], text: await answer.text() };
      } catch (error) {
        throw lost(question.doubt, error);
      }
    },
    async stream(question, { signal, answerMs }) {
      const { at, address, leftMs } = await reached(question, answerMs);
      const { method } = question;
      if (method !== 'GET' && method !== 'POST') throw new TypeError(`nothing streams what ${method} asks for`);
      const asked = at.fetch.stream(address, { method, headers: headersOf(question), ...bodyOf(question), signal });
      try {
        return await within(leftMs, asked, () => new Error(`no answer within ${answerMs} ms`));
      } catch (error) {
        throw lost(question.doubt, error);
      }
    },
    async refusal({ status, text: read }) {
      // It may send how it refuses, and then nothing.
      const text = await within(
        limits.readMs,
        read(),
        () => new Error(`${name} answered ${status} and said no more`),
      ).catch((error: unknown) => errorText(error));
      return refusedBy({ status, text }) ?? away(`${name} answered ${status}: ${text.slice(0, 200)}`);
    },
  };
  const ofService = async <Answer>(asked: Promise<Answer>): Promise<Answer> => {
    try {
      return await asked;
    } catch (error) {
      throw error instanceof GateError ? error.of(service) : error;
    }
  };
  return {
    ask: (...asked) => ofService(neighbour.ask(...asked)),
    pass: (...asked) => ofService(neighbour.pass(...asked)),
    stream: (...asked) => ofService(neighbour.stream(...asked)),
    refusal: async (answer) => (await neighbour.refusal(answer)).of(service),
  };
}

/** All of them, for one person. */
export const neighboursFor = (over: NeighboursAt, asked: AskedFor): Readonly<Record<NeighbourName, Neighbour>> =>
  Object.fromEntries(NEIGHBOUR_NAMES.map((name) => [name, neighbourOf(name, over[name], asked)])) as Record<
    NeighbourName,
    Neighbour
  >;

/** A question that changes nothing. */
export const get = (path: string, query?: NeighbourQuestion['query']) =>
  ({ method: 'GET', path, ...(query && { query }) }) as const;

/** What was asked for; `null` where there is none of it for this person. */
export async function unlessUnknown<Value>(asked: Promise<Value>): Promise<Value | null> {
  try {
    return await asked;
  } catch (error) {
    if (error instanceof GateError && ['not_found', 'case_not_found'].includes(error.code)) return null;
    throw error;
  }
}

/** The parts of an answer that comes bit by bit. Throws where nothing comes for `quietMs`. */
export async function* unlessQuiet(body: AsyncIterable<Uint8Array>, quietMs: number): AsyncGenerator<Uint8Array> {
  const parts = body[Symbol.asyncIterator]();
  for (;;) {
    const part = await within(quietMs, parts.next(), () => new Error(`nothing came for ${quietMs} ms`));
    if (part.done) return;
    yield part.value;
  }
}
