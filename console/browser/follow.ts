const LONGEST_WAIT_MS = 15_000;

/** What came of asking the server for the page again. */
export type Came = 'here' | 'away' | 'signed out';

/**
 * Follows a stream as long as the page is open, and asks for the page again when something came: never twice at once, so that an older
 * answer never replaces a newer one, and not more often than `everyMs`. Comes back after a lost connection, until nobody is signed in. A page
 * that nobody sees holds no connection: a browser has six for all pages of an address, and decisions need one too.
 */
export function follow({
  address,
  events,
  everyMs,
  ask,
  say,
}: {
  readonly address: string;
  readonly events: readonly string[];
  readonly everyMs: number;
  readonly ask: () => Promise<Came>;
  /** Tells how live the page is; nothing where it is. */
  readonly say: (words: string) => void;
}): void {
  let waiting: number | undefined;
  let asking: Promise<Came> | null = null;
  let failures = 0;
  const now = (): Promise<Came> =>
    (asking ??= ask().finally(() => {
      asking = null;
    }));
  const later = (): void => {
    waiting ??= window.setTimeout(() => {
      waiting = undefined;
      if (asking) later();
      else void now();
    }, everyMs);
  };
  let open: EventSource | null = null;
  const connect = (): void => {
    if (open || document.hidden) return;
    const stream = new EventSource(address);
    open = stream;
    for (const event of events) stream.addEventListener(event, later);
    stream.addEventListener('open', () => {
      // What happened while nobody listened comes with the page.
      if (failures > 0) later();
      failures = 0;
      say('');
    });
    stream.addEventListener('error', () => {
      failures += 1;
      say('Not live: the connection was lost. Trying again; what is shown may be old.');
      if (stream.readyState !== EventSource.CLOSED) return;
      if (open === stream) open = null;
      // A refusal ends the stream for the browser: the session is over, or Gate is being restarted.
      void now().then((came) => {
        if (came !== 'signed out') setTimeout(connect, Math.min(LONGEST_WAIT_MS, 1_000 * 2 ** Math.min(failures, 4)));
      });
    });
  };
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) {
      open?.close();
      open = null;
      return;
    }
    if (!open) later();
    connect();
  });
  connect();
}

/** The page as the server makes it now, or why there is none. */
export async function pageAgain(
  address: string,
  say: (words: string) => void,
): Promise<Document | Exclude<Came, 'here'>> {
  try {
    const answer = await fetch(address, { headers: { accept: 'text/html' } });
    if (new URL(answer.url).pathname === '/login') {
      say('You are signed out. Load the page again to sign in.');
      return 'signed out';
    }
    if (!answer.ok && answer.status !== 404) return 'away';
    return new DOMParser().parseFromString(await answer.text(), 'text/html');
  } catch {
    return 'away';
  }
}
