import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { ClientCapability } from '../../contracts/call.js';
import type { KeyRing } from '../crypto/key-ring.js';
import { errorText } from '../errors.js';
import { within } from '../within.js';
import {
  ASKED_OF_CLIENTS,
  type CallTalks,
  type ClientAnswer,
  keyFor,
  type KeptQuestion,
  type Listener,
  Unaskable,
  untilGivenUp,
} from './call-talks.js';
import { heardNotes, type NoteStore, type Spoken, spokenNotes } from './notes-apart.js';

/** What becomes of a question: the client's answer, or why no client of the call is asked it. */
export type Said = ClientAnswer | readonly ['refused', string];

export interface AskedQuestion {
  readonly method: string;
  /** In the upstream's own text. */
  readonly params: string;
  readonly key: string;
  /** The name of the upstream that asks, where it has one. */
  readonly from?: string | undefined;
}

export interface OpenQuestion {
  readonly id: string;
  readonly correlationId: string;
  /** From then on nobody waits for the answer, by the clock of whoever asked. */
  readonly untilMs: number;
}

/** Where the processes over one store find what the tools of calls ask. Whoever reads it learns nothing without a key. */
export interface QuestionStore {
  ask(question: OpenQuestion & AskedQuestion): Promise<void>;
  /** Those of these calls that nobody answered yet, the oldest first. Whoever asked a question says when it is over: it removes it. */
  open(correlationIds: readonly string[]): Promise<readonly OpenQuestion[]>;
  /** `null` where it is gone, or is none that Gate asked. */
  read(question: Pick<OpenQuestion, 'id' | 'correlationId'>): Promise<AskedQuestion | null>;
  /** What was said to those that are still there, and when somebody last held the request of their client, by the clock of that process. */
  standing(
    ids: readonly string[],
  ): Promise<
    ReadonlyMap<string, { readonly correlationId: string; readonly said: Said | null; readonly heldMs: number }>
  >;
  /** Somebody holds the request of their client. */
  hold(ids: readonly string[]): Promise<void>;
  /** The first one counts; `false` is what came later, or to what is there no more. */
  say(id: string, said: Said): Promise<boolean>;
  remove(ids: readonly string[]): Promise<void>;
  removeOf(correlationId: string): Promise<void>;
  /** What nobody waits for any more goes, also where whoever asked it was killed. */
  purge(): Promise<void>;
}

export interface TalksApartOptions {
  readonly questions: QuestionStore;
  readonly notes: NoteStore;
  readonly keys: Pick<KeyRing, 'authenticate' | 'authentic'>;
  /** Called once where something of the store begins to fail, and with `null` once nothing of it does. */
  readonly onFault?: (error: unknown) => void;
  readonly now?: () => number;
  /** A clock that nobody sets: by it time passes here. */
  readonly steadyMs?: () => number;
  /** Between two looks while somebody waits. */
  readonly pauseMs?: number;
  /** How long a question waits for a client whose request nobody holds: its proxy may be about to start again. */
  readonly unheldMs?: number;
  /** Between two times that what was left behind is taken away, also where nobody calls. */
  readonly purgeEveryMs?: number;
}

const PAUSE_MS = 100;
/** So many pauses pass until what a tool said meanwhile is kept. */
const PAUSES_OF_NOTES = 2;
/** How long an answer waits for what its tool said before. */
const CATCH_UP_MS = 1_000;
const UNHELD_MS = 30_000;
/** How often whoever holds the request of a client says so. */
const HOLD_EVERY_MS = 5_000;
/** A client whose stream broke comes back after ten seconds, and who holds its request then says so at once. */
const MAY_COME_BACK_MS = 16_000;
/** Less says nothing: it may be held all the same. */
const LEAST_UNHELD_MS = 2 * HOLD_EVERY_MS;
const PURGE_EVERY_MS = 60_000;
/** Clocks of two processes may differ by so much. */
export const CLOCKS_APART_MS = 60_000;
const PAUSES_UNTIL_REMOVED_AGAIN = 50;
/** A longer question is not handed on. */
const MAX_TEXT = 65_536;
/** Questions of one call that nobody answered yet. */
const MAX_OPEN = 16;
/** An answered question stays so long, so that whoever put it to the client hears that it was answered. */
const ANSWERED_STAYS_MS = 5_000;
const WITHDRAWN = 'the tool waits for no answer any more';

/**
 * How long a question of a call that has so much time left waits for somebody to hold the request of its client: the tool hears of it while it has time
 * to end well.
 */
const patience = (leftMs: number, unheldMs: number): number =>
  Math.min(unheldMs, Math.max(leftMs / 2, Math.min(MAY_COME_BACK_MS, (leftMs * 3) / 4), LEAST_UNHELD_MS));

/**
 * What tools ask of clients, and say to them, where the process that sends a call and the one that holds its client's request are apart. A question is a row of the store of
 * both, which each looks at while it waits for something: so any replica puts it to the client that comes back, also after a restart, and any takes the
 * answer. The first answer counts. What ends the attempt withdraws its questions. What a tool says goes by rows too (`notes-apart.ts`).
 */
export function talksApart(options: TalksApartOptions): CallTalks & { close(): void } {
  const { keys, now = Date.now, steadyMs = () => performance.now(), pauseMs = PAUSE_MS } = options;
  const { unheldMs = UNHELD_MS, purgeEveryMs = PURGE_EVERY_MS } = options;
  let closed = false;
  const outage = outageOf((error) => {
    if (!closed) options.onFault?.(error);
  });
  const questions = toldOf(options.questions, QUESTION_PARTS, outage);
  const notes = toldOf(options.notes, NOTE_PARTS, outage);
  const looking = (isNeeded: () => boolean, look: () => Promise<void>) => {
    let running = false;
    const run = async () => {
      while (!closed && isNeeded()) {
        await look().catch(nothing);
        await sleep(pauseMs, undefined, { ref: false });
      }
      running = false;
    };
    return () => {
      if (running) return;
      running = true;
      void run();
    };
  };

  const purge = (): void => {
    questions.purge().catch(nothing);
    notes.purge().then(spoken.lost, nothing);
  };

  // The side that sends the call.

  interface Waiting {
    /** Until when it is waited for, and since when nobody is known to hold the request of its client: by the steady clock of this process. */
    readonly untilMs: number;
    unheldSinceMs: number;
    /** What the store said last of who holds it: another process's clock, of which only a change says something. */
    heldMs: number;
    resolve(answer: ClientAnswer): void;
    reject(error: Error): void;
  }
  interface Talk {
    isOver: boolean;
    readonly ids: Set<string>;
    readonly keys: Set<string>;
    readonly spoken: Spoken;
  }
  const spoken = spokenNotes({
    notes,
    onLate: (error) => outage.failed('notes kept', error),
    now,
    pauseMs: PAUSES_OF_NOTES * pauseMs,
  });
  const purging = setInterval(purge, purgeEveryMs).unref();
  purge();
  const waiting = new Map<string, Waiting>();
  const talks = new Map<string, Talk>();
  const lookForAnswers = looking(
    () => waiting.size > 0,
    async () => {
      const asked = [...waiting];
      const standing = await questions.standing(asked.map(([id]) => id));
      for (const [id, one] of asked) {
        const { untilMs, resolve, reject } = one;
        const of = standing.get(id);
        if (of && of.heldMs !== one.heldMs) Object.assign(one, { heldMs: of.heldMs, unheldSinceMs: steadyMs() });
        if (of?.said?.[0] === 'refused') reject(new Error(of.said[1]));
        else if (of?.said) resolve(of.said);
        else if (!of) reject(new Error('the question is not in the store any more'));
        else if (steadyMs() >= untilMs) reject(new Error('the client did not answer in time'));
        else if (steadyMs() - one.unheldSinceMs > patience(untilMs - one.unheldSinceMs, unheldMs))
          reject(new Error('the client is gone: nobody holds a request of it for this call'));
      }
    },
  );
  async function ask(
    talk: Talk,
    question: OpenQuestion & AskedQuestion,
    givenUp: AbortSignal | undefined,
  ): Promise<ClientAnswer> {
    const { id } = question;
    const unheldSinceMs = steadyMs();
    const untilMs = unheldSinceMs + question.untilMs - now();
    let answered = false;
    talk.ids.add(id);
    try {
      // What the tool said before it asked is heard before.
      await talk.spoken.kept();
      await questions.ask(question).catch(() => {
        throw new Error('the question cannot be handed on to the client now');
      });
      if (talk.isOver) throw new Error(WITHDRAWN);
      const said = new Promise<ClientAnswer>((resolve, reject) => {
        waiting.set(id, { untilMs, unheldSinceMs, heldMs: 0, resolve, reject });
        lookForAnswers();
      });
      const answer = await untilGivenUp(said, givenUp);
      answered = true;
      return answer;
    } finally {
      waiting.delete(id);
      talk.ids.delete(id);
      if (answered) setTimeout(() => remove(id), ANSWERED_STAYS_MS).unref();
      else remove(id);
    }
  }
  /** Once more where the store fails; after that it goes with what nobody waits for. */
  function remove(id: string, isAgain = false): void {
    questions.remove([id]).catch(() => {
      if (!isAgain && !closed) setTimeout(() => remove(id, true), PAUSES_UNTIL_REMOVED_AGAIN * pauseMs).unref();
    });
  }
  /** Why this is asked of no client; `null` where it may be. Before anything of it is kept. */
  function refusal(talk: Talk, can: readonly ClientCapability[], method: string, params: string): string | null {
    const capability = ASKED_OF_CLIENTS.get(method);
    if (capability === undefined || !can.includes(capability)) return 'the client cannot be asked that';
    if (params.length > MAX_TEXT) return 'the request cannot be handed on to the client';
    return talk.ids.size < MAX_OPEN ? null : `${MAX_OPEN} questions of this call are open`;
  }

  // The side that holds the request of the client.

  /** A question that was put to a client here. */
  interface Put {
    /** `null` where it was answered here before it was put to anybody. */
    correlationId: string | null;
    readonly to: Set<Listener>;
    readonly kept: KeptQuestion;
    isOver: boolean;
    resolve(answer: ClientAnswer): void;
    reject(error: Error): void;
  }
  const listeners = new Map<string, Listener>();
  const put = new Map<string, Put>();
  let heldMs = Number.NEGATIVE_INFINITY;
  const hears = (listener: Listener | undefined): boolean => listener !== undefined && listener.hears !== false;
  const lookForNotes = heardNotes(
    notes,
    () => [...listeners].flatMap(([correlationId, listener]) => (hears(listener) ? [correlationId] : [])),
    (correlationId, { method, params }) => listeners.get(correlationId)?.told(method, params),
  );

  function putOf(id: string): Put {
    const known = put.get(id);
    if (known) return known;
    let settle: Pick<Put, 'resolve' | 'reject'> | undefined;
    const over = new Promise<ClientAnswer>((resolve, reject) => (settle = { resolve, reject }));
    over.catch(() => undefined);
    const made: Put = {
      correlationId: null,
      to: new Set(),
      kept: { id, nameIn: (session) => nameIn(session, id), over },
      isOver: false,
      resolve(answer) {
        made.isOver = true;
        settle?.resolve(answer);
      },
      reject(error) {
        made.isOver = true;
        settle?.reject(error);
      },
    };
    put.set(id, made);
    return made;
  }
  function putTo(listener: Listener, question: OpenQuestion, { method, params, key, from }: AskedQuestion): void {
    const { id, untilMs } = question;
    const of = putOf(id);
    of.correlationId = question.correlationId;
    of.to.add(listener);
    // Whoever asked ends it at its time; this ends it where nobody does, and by another clock not before.
    const timeoutMs = Math.max(1, untilMs - now() + CLOCKS_APART_MS);
    listener
      .asked(method, params, timeoutMs, key, { kept: of.kept, from })
      .then(
        async (answer) => {
          if (!of.isOver && (await questions.say(id, answer))) of.resolve(answer);
        },
        async (error: unknown) => {
          if (!(error instanceof Unaskable)) return;
          await questions.say(id, ['refused', errorText(error)]);
          of.reject(error);
        },
      )
      .catch(nothing)
      .finally(() => {
        of.to.delete(listener);
        // Where its client is gone, it is put to the one that comes back. One that is over a look that began before may still find open.
        if (of.to.size === 0 && !of.isOver && put.get(id) === of) put.delete(id);
      });
  }
  async function endThose(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const standing = await questions.standing(ids);
    for (const id of ids) {
      const said = standing.get(id)?.said;
      const of = put.get(id);
      put.delete(id);
      if (of?.isOver) continue;
      if (said && said[0] !== 'refused') of?.resolve(said);
      else of?.reject(new Error(WITHDRAWN));
    }
  }
  const lookForQuestions = looking(
    () => listeners.size > 0 || put.size > 0,
    async () => {
      const calls = new Set(listeners.keys());
      for (const { correlationId } of put.values()) if (correlationId !== null) calls.add(correlationId);
      const all = await questions.open([...calls]);
      // What was said before one of them was asked is there by now.
      await lookForNotes();
      const open = new Set(all.map(({ id }) => id));
      await endThose([...put.keys()].filter((id) => !open.has(id)));
      const fresh = all.filter(({ id, correlationId }) => {
        const listener = listeners.get(correlationId);
        const of = put.get(id);
        return listener !== undefined && !of?.isOver && !of?.to.has(listener);
      });
      const read = await Promise.all(fresh.map((question) => questions.read(question)));
      const begun: string[] = [];
      // At once, so that what was asked together is one round.
      for (const [at, question] of fresh.entries()) {
        const listener = listeners.get(question.correlationId);
        const asked = read[at];
        if (!listener || !asked || put.get(question.id)?.isOver) continue;
        putTo(listener, question, asked);
        begun.push(question.id);
      }
      // Whoever cannot put it to a client has said so by then.
      await nextTurn();
      const isDue = steadyMs() - heldMs >= HOLD_EVERY_MS;
      const held = (isDue ? [...put.keys()] : begun).filter((id) => put.has(id));
      if (isDue) heldMs = steadyMs();
      if (held.length > 0) await questions.hold(held);
    },
  );

  const nameIn = (session: string, id: string): string =>
    `gate-${id}.${keys.authenticate(JSON.stringify([session, id]), NAMES)}`;
  function idIn(session: string, name: string): string | null {
    const [, id = '', tag = ''] = NAME.exec(name) ?? [];
    try {
      return id !== '' && keys.authentic(tag, JSON.stringify([session, id]), NAMES) ? id : null;
    } catch {
      // Made under a key that was taken out of the ring.
      return null;
    }
  }
  async function give(id: string, answer: ClientAnswer): Promise<boolean> {
    const counts = await questions.say(id, answer);
    if (counts) {
      // Also one that was put to nobody here: a look that began before still finds it open.
      putOf(id).resolve(answer);
      lookForQuestions();
    }
    return counts;
  }

  return {
    listen(correlationId, listener) {
      listeners.set(correlationId, listener);
      lookForQuestions();
      return () => {
        if (listeners.get(correlationId) === listener) listeners.delete(correlationId);
      };
    },
    listenerOf({ correlation_id: correlationId, client_can: can = [], client_hears: heard = [] }) {
      if ((can.length === 0 && heard.length === 0) || closed) return null;
      const talk: Talk = {
        isOver: false,
        ids: new Set(),
        keys: new Set(),
        spoken: spoken.of(correlationId, heard.includes('logs')),
      };
      talks.set(correlationId, talk);
      const isHeard = (method: string): boolean =>
        !talk.isOver && heard.includes(method === 'notifications/progress' ? 'progress' : 'logs');
      return {
        progress: heard.includes('progress'),
        drops: (method, params) => !isHeard(method) || talk.spoken.drops({ method, params }),
        told(method, params) {
          if (isHeard(method)) talk.spoken.told({ method, params });
        },
        async asked(method, params, timeoutMs, wanted, { givenUp, from } = {}) {
          const why = refusal(talk, can, method, params);
          if (why !== null) throw new Error(why);
          const id = randomUUID();
          const key = keyFor(talk.keys, id, wanted);
          return ask(talk, { id, correlationId, method, params, key, from, untilMs: now() + timeoutMs }, givenUp);
        },
      };
    },
    over(correlationId) {
      const talk = talks.get(correlationId);
      if (!talk) return;
      talks.delete(correlationId);
      talk.isOver = true;
      for (const id of talk.ids) waiting.get(id)?.reject(new Error(WITHDRAWN));
      return talk.spoken.over();
    },
    async caughtUp(correlationId) {
      if (!hears(listeners.get(correlationId))) return;
      const late = () => new Error('what tools said could not be looked for in time');
      await within(CATCH_UP_MS, lookForNotes(), late).catch((error: unknown) => outage.failed('notes taken', error));
    },
    dropped: spoken.dropped,
    kept: {
      async openOf(correlationId) {
        const open = await questions.open([correlationId]);
        if (open.length === 0) return [];
        await questions.hold(open.map(({ id }) => id));
        const read = await Promise.all(open.map(async (one) => ({ id: one.id, asked: await questions.read(one) })));
        return read.flatMap(({ id, asked }) => (asked ? [{ id, ...asked }] : []));
      },
      give,
      async giveIn(session, name, answer) {
        const id = idIn(session, name);
        if (id === null || !(await give(id, answer))) return null;
        // It stays for a while, so that whoever put it hears of the answer.
        const of = (await questions.standing([id])).get(id);
        const asked = of && (await questions.read({ id, correlationId: of.correlationId }));
        return asked ? { correlationId: of.correlationId, method: asked.method } : null;
      },
      async withdraw(correlationId) {
        await Promise.all([questions.removeOf(correlationId), notes.removeOf(correlationId).then(spoken.lost)]);
      },
    },
    close() {
      closed = true;
      clearInterval(purging);
      spoken.close();
    },
  };
}

const nothing = (): void => undefined;

/** What may fail by itself: a store that takes notes may give no answers, and the other way round. */
type Part = 'questions written' | 'questions read' | 'notes kept' | 'notes taken' | 'removed';
const QUESTION_PARTS: Readonly<Record<keyof QuestionStore, Part>> = {
  ask: 'questions written',
  open: 'questions read',
  read: 'questions read',
  standing: 'questions read',
  hold: 'questions written',
  say: 'questions written',
  remove: 'removed',
  removeOf: 'removed',
  purge: 'removed',
};
const NOTE_PARTS: Readonly<Record<keyof NoteStore, Part>> = {
  keep: 'notes kept',
  take: 'notes taken',
  waiting: 'notes taken',
  drop: 'removed',
  removeOf: 'removed',
  purge: 'removed',
};

/** Tells once of each part that begins to fail, and with `null` once none does. */
function outageOf(tell: (error: unknown) => void) {
  const failing = new Set<Part>();
  return {
    failed(part: Part, error: unknown): void {
      if (!failing.has(part)) tell(error);
      failing.add(part);
    },
    answered(part: Part): void {
      if (failing.delete(part) && failing.size === 0) tell(null);
    },
  };
}

/** The store, which tells of each of its parts whether it answers. */
function toldOf<Told extends object>(
  store: Told,
  parts: Readonly<Record<keyof Told, Part>>,
  outage: ReturnType<typeof outageOf>,
): Told {
  const told = (name: keyof Told) => {
    const work = store[name] as (...given: unknown[]) => Promise<unknown>;
    return async (...given: unknown[]) => {
      try {
        const done = await work(...given);
        outage.answered(parts[name]);
        return done;
      } catch (error) {
        outage.failed(parts[name], error);
        throw error;
      }
    };
  };
  const names = Object.keys(parts) as (keyof Told)[];
  return Object.fromEntries(names.map((name) => [name, told(name)])) as Told;
}

const NAMES = 'mcp-question';
const NAME = /^gate-([0-9a-f-]{36})\.(\S{1,128})$/;
