/** Who opened a session, and how. */
export interface SignedIn {
  readonly subject: string;
  readonly tenant: string;
  readonly mode: string;
  readonly role: string;
  /** When the session ends whatever the person does; `null`: after a time without a request. */
  readonly endsMs?: number | null;
  /** The teams to which the person belongs, as the provider said; none by default. */
  readonly teams?: readonly string[];
}

/** Since when a session stands, whose role may have become another one after that. */
export interface Opened extends SignedIn {
  readonly openedMs: number;
}

/** What keeps a session: a browser in a cookie, the command line in a file. */
type SessionKind = 'browser' | 'command-line';

/** A session as its person sees it. */
export interface OpenSession extends Opened {
  /** Names the session in the store; of no use to whoever has none of its own. */
  readonly id: string;
  readonly kind: SessionKind;
  /** Its last request, to within a minute. */
  readonly seenMs: number;
  /** When it ends unless it is used; for the command line, when it ends. */
  readonly untilMs: number;
  /** The address from which the command line asked for it; `null` for a browser. */
  readonly askedFrom: string | null;
}
