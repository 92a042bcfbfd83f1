import { within } from '../within.js';
import { droppedText, LOG_METHOD } from './call-talks.js';

/** What a tool says of its call while it works: progress, or a log message. */
export interface Note {
  readonly method: string;
  /** In the upstream's own text. */
  readonly params: string;
}

/** Some notes of one call, in the order in which they were said. */
export interface KeptNotes {
  readonly correlationId: string;
  /** Later ones of a call have a greater one. */
  readonly at: number;
  readonly notes: readonly Note[];
}

/** Where the processes over one store find what the tools of calls say. Whoever reads it learns nothing without a key. */
export interface NoteStore {
  keep(kept: KeptNotes): Promise<void>;
  /** Those of these calls, in the order in which they were said. They are nobody else's from then on. */
  take(correlationIds: readonly string[]): Promise<readonly KeptNotes[]>;
  /** Where those of this call stand that nobody took, the oldest first. */
  waiting(correlationId: string): Promise<readonly number[]>;
  /** How many notes nobody will hear of because of that: none where somebody took them. */
  drop(kept: Pick<KeptNotes, 'correlationId' | 'at'>): Promise<number>;
  /** The same for all of a call. */
  removeOf(correlationId: string): Promise<number>;
  /** The same for what nobody took in time, also where whoever said it was killed. */
  purge(): Promise<number>;
}

/** A longer note is not handed on. */
const MAX_TEXT = 65_536;
/** So many notes, and characters, of one call are kept at a time. */
const MAX_NOTES = 100;
const MAX_CHARS = 2 * MAX_TEXT;
/** As many of one call are taken in a second, in the long run: each is looked at, for a millisecond or so. */
const NOTES_A_SECOND = 100;
/** So many times of one call wait for somebody who hears them; the oldest goes for the next one. */
const MAX_KEPT = 16;
/** How long the end of an attempt waits until its last notes are kept. */
const LAST_LIMIT_MS = 1_000;
/** A client whose stream broke comes back after ten seconds, also where its call is over by then. */
const STAYS_MS = 16_000;

export interface SpokenOptions {
  readonly notes: NoteStore;
  /** What was said last was not kept in time. */
  readonly onLate: (error: unknown) => void;
  readonly now: () => number;
  /** Between two times that what was said is kept. */
  readonly pauseMs: number;
}

/** What the tool of one call says. */
export interface Spoken {
  /** Whether it is too much; it is then counted, and not told. Otherwise it has taken its room, also where it is withheld then. */
  drops(note: Note): boolean;
  /** What was not asked about right before takes its room now. */
  told(note: Note): void;
  /** Resolves once what was said until now is kept, or is not going to be. */
  kept(): Promise<void>;
  /** The tool says nothing more. Resolves soon. */
  over(): Promise<void>;
}

/**
 * The side that sends a call: keeps what its tool says, some of it at a time. Nobody waits for that but the end of the attempt, a second at most. What is too
 * much, cannot be kept, or is taken by nobody in time is dropped and counted, and a client that hears log messages is told how much.
 */
export function spokenNotes({ notes: store, onLate, now, pauseMs }: SpokenOptions) {
  let dropped = 0;
  const talking = new Set<{ kept(): Promise<void> }>();
  let timer: NodeJS.Timeout | null = null;
  const keepSoon = (): void => {
    timer ??= setTimeout(() => void keepAll(), pauseMs).unref();
  };
  async function keepAll(): Promise<void> {
    const all = [...talking];
    talking.clear();
    // One after the other: a store that is slow is asked for less.
    for (const one of all) await one.kept();
    timer = null;
    if (talking.size > 0) keepSoon();
  }

  return {
    dropped: (): number => dropped,
    /** What went without somebody who heard it. */
    lost(count: number): void {
      dropped += count;
    },
    of(correlationId: string, hearsLogs: boolean): Spoken {
      /** Its client was not told of these yet. */
      let untold = 0;
      const lose = (count: number): void => {
        dropped += count;
        untold += count;
      };
      let queued: Note[] = [];
      let chars = 0;
      let last = 0;
      let isOver = false;
      let writing: Promise<void> = Promise.resolve();
      /** So many were kept since it was looked which of them nobody took; more than that wait nowhere. */
      let kept = 0;
      const write = async (): Promise<void> => {
        const said = queued;
        // A row of its own only where nothing else comes: it would take the place of what was said.
        if (said.length === 0 && !isOver) {
          chars = 0;
          return;
        }
        const of = untold;
        [queued, chars, untold] = [[], 0, hearsLogs ? 0 : untold];
        const notes = hearsLogs && of > 0 ? [...said, { method: LOG_METHOD, params: droppedText(of) }] : said;
        if (notes.length === 0) return;
        last = Math.max(now(), last + 1);
        try {
          await store.keep({ correlationId, at: last, notes });
        } catch {
          untold += hearsLogs ? of : 0;
          lose(said.length);
          return;
        }
        kept += 1;
        if (kept <= MAX_KEPT) return;
        const waiting = await store.waiting(correlationId);
        kept = Math.min(waiting.length, MAX_KEPT);
        for (const at of waiting.slice(0, -MAX_KEPT)) lose(await store.drop({ correlationId, at }));
      };
      let room = MAX_NOTES;
      let roomAtMs = now();
      const hasRoom = (): boolean => {
        const atMs = now();
        room = Math.min(MAX_NOTES, room + (Math.max(0, atMs - roomAtMs) / 1_000) * NOTES_A_SECOND);
        roomAtMs = atMs;
        return room >= 1 && queued.length < MAX_NOTES;
      };
      const takes = ({ params: { length } }: Note): boolean =>
        length <= MAX_TEXT && chars + length <= MAX_CHARS && hasRoom();
      /** What was given its room last, and was not told yet. */
      let admitted: Note | null = null;
      const one: Spoken = {
        drops(note) {
          admitted = null;
          if (!takes(note)) {
            lose(1);
            return true;
          }
          admitted = note;
          room -= 1;
          chars += note.params.length;
          talking.add(one);
          keepSoon();
          return false;
        },
        told(note) {
          const isAdmitted = admitted?.method === note.method && admitted.params === note.params;
          if (!isAdmitted && one.drops(note)) return;
          admitted = null;
          queued.push(note);
        },
        kept: () => (writing = writing.then(write).catch(() => undefined)),
        async over() {
          talking.delete(one);
          isOver = true;
          const late = () => new Error('the last notes were not kept in time');
          await within(LAST_LIMIT_MS, one.kept(), late).catch(onLate);
          const remove = () => void store.removeOf(correlationId).then(lose, () => undefined);
          if (kept > 0) setTimeout(remove, STAYS_MS).unref();
        },
      };
      return one;
    },
    close(): void {
      if (timer) clearTimeout(timer);
    },
  };
}

/**
 * The side that holds the requests of clients: takes what was said for them. `hearers` are the calls of which somebody is told something now. Whoever asks
 * has, once it resolves, what was kept before he asked.
 */
export function heardNotes(
  store: Pick<NoteStore, 'take'>,
  hearers: () => readonly string[],
  tell: (correlationId: string, note: Note) => void,
): () => Promise<void> {
  let running: Promise<void> = Promise.resolve();
  let next: Promise<void> | null = null;
  const take = async (): Promise<void> => {
    const calls = hearers();
    if (calls.length === 0) return;
    for (const { correlationId, notes } of await store.take(calls)) for (const note of notes) tell(correlationId, note);
  };
  return () =>
    (next ??= running.then(() => {
      next = null;
      const taken = take();
      running = taken.catch(() => undefined);
      return taken;
    }));
}
