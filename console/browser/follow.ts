import { tellsSignedOut } from './signed-out.js';
import { isToldOtherwise, stoppedAsked } from './stopped.js';

const LONGEST_WAIT_MS = 15_000;
/** Longer than a page waits for a service that says nothing (docs/architecture/console.md#pages-and-forms). */
const ASKED_WITHIN_MS = 20_000;
/**
 * How long a stream may say nothing: three times as long as Gate's leave between two signs of life. A network that went away without a word, or a
 * machine that slept, ends no connection by itself.
 */
const SILENT_MS = 45_000;
/** What a stream says where nothing else came, with whether all of the tenant is stopped (docs/architecture/console.md#pages-and-forms). */
const ALIVE = 'alive';
const NOT_LIVE = 'Not live: the connection was lost. Trying again; what is shown may be old.';

/** How long to wait after so many failures. */
const waitAfter = (failures: number): number => Math.min(LONGEST_WAIT_MS, 1_000 * 2 ** Math.min(failures, 4));

/** A call's part of its page, as the server made it once. */
export interface Held {
  readonly page: Document;
  /** By which the server tells whether it would make it so again. */
  readonly tag: string;
}

/** What came of asking the server for the page again. */
export type Came = 'here' | 'away' | 'signed out' | 'someone else';

/** One event of the stream, as it came. */
export interface Heard {
  readonly event: string;
  readonly data: string;
}

/** What the window that listens tells the others of the same stream. */
type Told = Heard | 'opened' | 'lost' | 'refused';

/**
 * Follows a stream as long as the page is open, and asks for the page again when something came: never twice at once, so that an older
 * answer never replaces a newer one, and not more often than `everyMs`. Comes back after a lost connection, until nobody is signed in.
 *
 * A browser has six connections for all pages of an address, and decisions need one too. So a page that nobody sees holds none, and of
 * several windows one listens for all: the one that has the lock, which a browser takes from a window that is closed or crashes. Without
 * locks each listens for itself.
 */
export function follow({
  address,
  events,
  everyMs,
  heard: note = () => undefined,
  ask,
  say,
}: {
  readonly address: string;
  readonly events: readonly string[];
  readonly everyMs: number;
  /** Is told each event, before the page is asked for. */
  readonly heard?: (event: Heard) => void;
  /** `mayHaveMissed`: since the page was last asked for there was a time in which nobody listened. */
  readonly ask: (mayHaveMissed: boolean) => Promise<Came>;
  /** Tells that the page is not live; nothing where it is. */
  readonly say: (words: string) => void;
}): void {
  const name = `gate:${address}`;
  // Only where the address is safe.
  const locks = 'locks' in navigator ? navigator.locks : null;
  const others = locks ? new BroadcastChannel(name) : null;
  let waiting: number | undefined;
  let again: number | undefined;
  let asking: Promise<Came> | null = null;
  let failures = 0;
  /** Whether nobody listens. */
  let isLost = false;
  /** How often somebody listened again: an answer that was asked for before is older. */
  let reopened = 0;
  let mayHaveMissed = false;
  const now = (): Promise<Came> =>
    (asking ??= answered(reopened).finally(() => {
      asking = null;
    }));
  const later = (): void => {
    waiting ??= window.setTimeout(() => {
      waiting = undefined;
      if (asking) later();
      else void now();
    }, everyMs);
  };
  const answered = async (asked: number): Promise<Came> => {
    clearTimeout(again);
    const missed = mayHaveMissed;
    mayHaveMissed = false;
    const came = await ask(missed);
    if (came !== 'here') mayHaveMissed ||= missed;
    if (came === 'away') {
      say(NOT_LIVE);
      failures += 1;
      // Where nobody listens the page is asked for once somebody does.
      if (!isLost) again = window.setTimeout(later, waitAfter(failures));
    } else if (came !== 'here') say('');
    else if (!isLost && asked === reopened) {
      failures = 0;
      say('');
    }
    return came;
  };
  const hear = (told: Told): void => {
    if (document.hidden) return;
    if (told === 'lost' || told === 'refused') {
      isLost = true;
      failures += 1;
      say(NOT_LIVE);
      // A refusal ends the stream for the browser: the session is over, or Gate is being restarted.
      if (told === 'refused') void now();
      return;
    }
    // What happened while nobody listened comes with the page, and until then the page is old.
    if (told === 'opened') {
      isLost = false;
      failures = 0;
      reopened += 1;
      mayHaveMissed = true;
    } else if (told.event !== ALIVE) note(told);
    else if (!isToldOtherwise(told.data)) return;
    later();
  };
  others?.addEventListener('message', ({ data }) => hear(data as Told));
  const tell = (told: Told): void => {
    hear(told);
    others?.postMessage(told);
  };

  /** Listens until it is ended, or nobody is signed in. */
  const listen = (ended: AbortSignal, isFirst: boolean): Promise<void> =>
    new Promise((done) => {
      if (ended.aborted) return done();
      let stream: EventSource | null = null;
      let comeBack: number | undefined;
      let silent: number | undefined;
      // The page was just made; and nothing was missed before anybody listened.
      let isFresh = isFirst;
      const end = (): void => {
        stream?.close();
        clearTimeout(comeBack);
        clearTimeout(silent);
        done();
      };
      const heard = (): void => {
        clearTimeout(silent);
        silent = window.setTimeout(() => {
          isFresh = false;
          stream?.close();
          tell('lost');
          open();
        }, SILENT_MS);
      };
      const open = (): void => {
        const opened = new EventSource(address);
        stream = opened;
        heard();
        for (const event of [ALIVE, ...events])
          opened.addEventListener(event, ({ data }: MessageEvent<string>) => {
            heard();
            tell({ event, data });
          });
        opened.addEventListener('open', () => {
          heard();
          if (!isFresh) tell('opened');
          isFresh = false;
        });
        opened.addEventListener('error', () => {
          isFresh = false;
          // It comes back by itself, or below.
          heard();
          if (opened.readyState !== EventSource.CLOSED) return tell('lost');
          clearTimeout(silent);
          tell('refused');
          void now().then((came) => {
            // Whoever signs in again does so in some window, which then listens.
            if (came === 'signed out') return end();
            if (!ended.aborted) comeBack = window.setTimeout(open, waitAfter(failures));
          });
        });
      };
      ended.addEventListener('abort', end);
      open();
    });

  let leaving: AbortController | null = null;
  const connect = (isFirst: boolean): void => {
    if (leaving || document.hidden) return;
    leaving = new AbortController();
    const { signal } = leaving;
    if (!locks) {
      void listen(signal, isFirst);
      return;
    }
    let isTaken = false;
    void locks
      .request(name, { ifAvailable: true }, (lock) => {
        if (lock) return listen(signal, isFirst);
        isTaken = true;
        return undefined;
      })
      // Until then the page hears what the holder hears.
      .then(() => (isTaken ? locks.request(name, { signal }, () => listen(signal, false)) : undefined))
      // It was hidden while it waited.
      .catch(() => undefined);
  };
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) {
      leaving?.abort();
      leaving = null;
      // Nobody sees it, and whoever listens when it is seen again tells how that goes.
      isLost = false;
      return;
    }
    if (!leaving) {
      mayHaveMissed = true;
      later();
    }
    connect(false);
  });
  connect(true);
}

/** What came instead of a page. */
type Instead = Exclude<Came, 'here'>;

/** The page as the server makes it now, or why there is none. */
export async function pageAgain(address: string, say: (words: string) => void): Promise<Document | Instead> {
  const came = await asked(address, null);
  if (came === 'someone else')
    say('Somebody signed in anew in this browser. Load the page again to go on as who that is.');
  return came === 'same' ? 'away' : typeof came === 'string' ? came : came.page;
}

/** More rows of the list, without the call beside it. */
export async function rowsPart(href: string): Promise<Document | Instead> {
  const came = await asked(partOf(href, 'rows'), null);
  return came === 'same' ? 'away' : typeof came === 'string' ? came : came.page;
}

/** The part of a call's page that is about the call, `same` where it is as the one that is held. */
export function callPart(
  href: string,
  held: Held | null,
  how: Pick<RequestInit, 'priority' | 'signal'> = {},
): Promise<Held | Instead | 'same'> {
  // The list beside the call stays as it is.
  return asked(partOf(href, 'detail'), held, how);
}

function partOf(href: string, part: string): string {
  const address = new URL(href, location.href);
  address.searchParams.set('part', part);
  return address.href;
}

/**
 * Asks as a browser does that comes to the page. What was made for another person or session than the page that is shown is none of it: it would
 * be decided on as somebody whom the page does not name. Whatever came of it, the shown page says whether all of the tenant is stopped, and whether
 * anybody is signed in.
 */
async function asked(address: string, held: Held | null, how: Pick<RequestInit, 'priority' | 'signal'> = {}) {
  const limit = new AbortController();
  const late = setTimeout(() => limit.abort(), ASKED_WITHIN_MS);
  try {
    const signal = how.signal ? AbortSignal.any([how.signal, limit.signal]) : limit.signal;
    const headers = { accept: 'text/html', ...(held && { 'if-none-match': held.tag }) };
    const tellStopped = stoppedAsked();
    const answer = await fetch(address, { headers, ...how, signal });
    if (answer.status === 304) {
      // It is as that page says, which may not be the one that is shown.
      if (held) tellStopped(held.page);
      return 'same';
    }
    if (new URL(answer.url).pathname === '/login') {
      tellsSignedOut();
      return 'signed out';
    }
    if (!answer.ok && answer.status !== 404) return 'away';
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    if (madeFor(page) !== madeFor(document)) return 'someone else';
    tellStopped(page);
    return { page, tag: answer.headers.get('etag') ?? '' };
  } catch {
    return 'away';
  } finally {
    clearTimeout(late);
  }
}

/** Whom a page names at its top, and the session of its forms. */
function madeFor(page: Document): string {
  const who = page.querySelector('.top .who');
  return `${who?.querySelector('span')?.textContent ?? ''} ${who?.querySelector<HTMLInputElement>('[name="csrf"]')?.value ?? ''}`;
}
