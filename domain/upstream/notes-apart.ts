import { within } from '../within.js';

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
  /** Whether it was there: somebody took it otherwise. */
  drop(kept: Pick<KeptNotes, 'correlationId' | 'at'>): Promise<boolean>;
  removeOf(correlationId: string): Promise<void>;
  /** What nobody took in time goes, also where whoever said it was killed. */
  purge(): Promise<void>;
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
  readonly onFault: (error: unknown) => void;
  /** The store answered. */
  readonly onKept: () => void;
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
 * much, or cannot be kept, is dropped and counted.
 */
export function spokenNotes({ notes: store, onFault, onKept, now, pauseMs }: SpokenOptions) {
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
    of(correlationId: string): Spoken {
      let queued: Note[] = [];
      let chars = 0;
      let last = 0;
      let writing: Promise<void> = Promise.resolve();
      const waiting: { readonly at: number; readonly count: number }[] = [];
      const write = async (): Promise<void> => {
        const said = queued;
        [queued, chars] = [[], 0];
        if (said.length === 0) return;
        last = Math.max(now(), last + 1);
        try {
          await store.keep({ correlationId, at: last, notes: said });
        } catch (error) {
          dropped += said.length;
          onFault(error);
          return;
        }
        onKept();
        waiting.push({ at: last, count: said.length });
        const oldest = waiting.length > MAX_KEPT ? waiting.shift() : undefined;
        if (oldest && (await store.drop({ correlationId, at: oldest.at }))) dropped += oldest.count;
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
            dropped += 1;
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
        kept: () => (writing = writing.then(write).catch(onFault)),
        async over() {
          talking.delete(one);
          await within(LAST_LIMIT_MS, one.kept(), () => new Error('the last notes were not kept in time')).catch(
            onFault,
          );
          if (waiting.length > 0) setTimeout(() => void store.removeOf(correlationId).catch(onFault), STAYS_MS).unref();
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
