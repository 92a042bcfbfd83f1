import { errorText, GateError } from '../errors.js';
import type { LiveTls, TlsCredential } from './live-tls.js';

/** A certificate of a service, with its key. */
export interface HeldCertificate {
  readonly cert: string;
  readonly key: string;
  readonly notAfterMs: number;
}

/** A request that is stored before it is sent, so that a lost answer is asked for again. */
export interface PendingRequest {
  readonly requestId: string;
  readonly csr: string;
  readonly key: string;
}

/** The CAs that identity published last. */
export interface KeptTrust {
  /** The number of the bundle. */
  readonly sequence: number;
  /** PEM. */
  readonly ca: string;
}

export interface WorkloadKeep {
  /** `null` where none is kept, or it began with other CAs than this process was started with. */
  trust(): KeptTrust | null;
  storeTrust(trust: KeptTrust): void;
  /** Throws for one that is damaged. */
  current(): HeldCertificate | null;
  pending(): PendingRequest | null;
  storePending(pending: PendingRequest | null): void;
  /** Stores the certificate and forgets the request. */
  storeCurrent(held: HeldCertificate): void;
}

export interface WorkloadRenewalParts {
  /** Of the process, for people. */
  readonly name: string;
  /** PEM of the CAs that are trusted until identity says which. */
  readonly ca: string;
  readonly keep: WorkloadKeep;
  newRequest(): Promise<PendingRequest>;
  /** The certificate for a request, checked, from identity, which is shown another one for it. */
  ask(pending: PendingRequest, shown: Pick<TlsCredential, 'cert' | 'key'>): Promise<HeldCertificate>;
  /** The certificate for the first time, and after a recovery; `null` where there is none. */
  bootstrap(): Promise<Pick<TlsCredential, 'cert' | 'key'> | null>;
  readonly onRenewed?: (held: HeldCertificate) => void;
  /** Each time that asking fails. */
  readonly onFailed?: (reason: string, inMs: number) => void;
  /** Once, when the certificate ends before there is another one. */
  readonly onEnded?: () => void;
  readonly clock?: () => number;
  readonly random?: () => number;
  /** How long after a certificate the next one is asked for, by what is left of it; half of that by default. */
  readonly renewAfterMs?: (leftMs: number) => number;
}

/** After a failure, each with the same request. */
const RETRIES_MS = [1_000, 4_000, 16_000];
/** Then so often, or when half of what is left is over, if that is sooner. */
const SWEEP_MS = 30_000;
const SHORTEST_MS = 1_000;
/** How often the clock is looked at: a machine that slept wakes with a certificate that has ended. */
const LOOK_MS = 15_000;
/** Others renew at other times, though all began together. */
const JITTER = 0.1;

export interface WorkloadRenewal extends LiveTls {
  /** The certificate that is kept, or the first one: resolves when it is there. Throws where identity refuses it, or does not answer for so long. */
  start(limitMs: number): Promise<void>;
  /** Until when the certificate counts; 0 before the first one. */
  endsMs(): number;
  /** Trusts these CAs from now on, and keeps them. An older bundle than the last one changes nothing. */
  trust(published: KeptTrust): void;
  close(): Promise<void>;
}

/**
 * Keeps the certificate of a service new: asks for the next one when half of its time is over, again with the same request where no answer comes,
 * and keeps the one that it has to its end. Then nothing is connected with it any more, and asking goes on (docs/architecture/identity.md#services).
 */
export function createWorkloadRenewal(parts: WorkloadRenewalParts): WorkloadRenewal {
  const { name, keep, clock = Date.now, random = Math.random } = parts;
  const renewAfterMs = parts.renewAfterMs ?? ((leftMs: number) => leftMs / 2);
  const listeners = new Set<(next: TlsCredential) => void>();
  let trusted: KeptTrust = keep.trust() ?? { sequence: 0, ca: parts.ca };
  let held: HeldCertificate | null = null;
  let fault: string | null = null;
  let failures = 0;
  let due = { atMs: Number.POSITIVE_INFINITY, inMs: Number.POSITIVE_INFINITY };
  let hasEnded = false;
  let closed = false;
  let looking = false;
  let isAsking = false;
  let timer: NodeJS.Timeout | undefined;
  let wake: () => void = () => undefined;
  let asking: Promise<void> = Promise.resolve();
  let first: () => void = () => undefined;
  const had = new Promise<void>((resolve) => (first = resolve));

  const counts = (one: HeldCertificate | null): one is HeldCertificate => one !== null && one.notAfterMs > clock();
  const jittered = (ms: number): number => ms * (1 - JITTER + 2 * JITTER * random());
  const ended = () =>
    new GateError(
      'workload_certificate_ended',
      held === null
        ? `the service ${name} has no certificate yet`
        : `the certificate of the service ${name} ended at ${new Date(held.notAfterMs).toISOString()}, and identity gave no other one${fault === null ? '' : `: ${fault}`}`,
    );

  const setDue = (inMs: number): void => {
    due = { atMs: clock() + inMs, inMs };
  };

  function take(next: HeldCertificate): void {
    held = next;
    [fault, failures, hasEnded] = [null, 0, false];
    setDue(jittered(Math.max(0, renewAfterMs(next.notAfterMs - clock()))));
    first();
    tell(next);
  }

  const shownAs = ({ cert, key }: HeldCertificate): TlsCredential => ({ ca: trusted.ca, cert, key });
  function tell(one: HeldCertificate): void {
    for (const listener of listeners) listener(shownAs(one));
  }

  /** The next certificate, by the one that counts, or by the first one's. A request that came to nothing is followed by a new one, once. */
  async function renew(): Promise<HeldCertificate> {
    const left = keep.pending();
    let refused: unknown;
    for (const before of left ? [left, null] : [null]) {
      const pending = before ?? (await parts.newRequest());
      if (before === null) keep.storePending(pending);
      for (const shown of [() => (counts(held) ? held : null), parts.bootstrap])
        try {
          const certificate = await shown();
          if (certificate) return await parts.ask(pending, certificate);
        } catch (error) {
          if (!isRefusal(error)) throw error;
          refused ??= error;
        }
      keep.storePending(null);
    }
    throw refused ?? new Error('there is no certificate to ask with');
  }

  async function once(): Promise<void> {
    try {
      const next = await renew();
      if (closed) return;
      keep.storeCurrent(next);
      take(next);
      parts.onRenewed?.(next);
    } catch (error) {
      fault = errorText(error);
      const retry = RETRIES_MS[failures];
      failures += 1;
      const leftMs = held === null ? 0 : held.notAfterMs - clock();
      const inMs = jittered(retry ?? Math.max(SHORTEST_MS, Math.min(SWEEP_MS, leftMs > 0 ? leftMs / 2 : SWEEP_MS)));
      setDue(inMs);
      if (!closed) parts.onFailed?.(fault, inMs);
      throw error;
    }
  }

  function look(): void {
    if (closed) return;
    if (held !== null && !counts(held) && !hasEnded) {
      hasEnded = true;
      parts.onEnded?.();
    }
    const now = clock();
    // A clock that was put back would leave what is due far away.
    looking = true;
    const isDue = now >= due.atMs || due.atMs - now > due.inMs + LOOK_MS;
    if (isDue) {
      isAsking = true;
      asking = once().catch(() => undefined);
      void asking.finally(() => {
        isAsking = false;
        look();
      });
      return;
    }
    const endMs = held !== null && !hasEnded ? held.notAfterMs : Number.POSITIVE_INFINITY;
    timer = setTimeout(look, Math.max(1, Math.min(due.atMs, endMs, now + LOOK_MS) - now));
    timer.unref();
  }

  return {
    async start(limitMs) {
      const giveUpMs = clock() + limitMs;
      const kept = keep.current();
      if (counts(kept)) take(kept);
      while (!counts(held)) {
        if (closed) throw new Error('it was stopped');
        try {
          await once();
        } catch (error) {
          if (closed || isRefusal(error) || clock() >= giveUpMs) throw error;
          await new Promise<void>((resolve) => {
            wake = resolve;
            timer = setTimeout(resolve, Math.max(1, due.atMs - clock()));
          });
        }
      }
      look();
    },
    had: () => had,
    now() {
      if (!counts(held)) throw ended();
      return shownAs(held);
    },
    trusted: () => trusted.ca,
    trust(published) {
      if (published.sequence < trusted.sequence) return;
      const isOther = published.ca !== trusted.ca;
      if (isOther || published.sequence > trusted.sequence) keep.storeTrust(published);
      trusted = published;
      // What is open goes on; new connections are made, and taken, with these.
      if (isOther && counts(held)) tell(held);
    },
    settled() {
      if (!counts(held) && looking && !isAsking && !hasEnded) {
        clearTimeout(timer);
        look();
      }
      return asking;
    },
    onRenewed(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    ready() {
      if (!counts(held)) throw ended();
      return fault === null ? undefined : `not renewed: ${fault}`;
    },
    endsMs: () => held?.notAfterMs ?? 0,
    async close() {
      closed = true;
      clearTimeout(timer);
      wake();
      await asking;
    },
  };
}

/** Identity answered that it does not give one. Too many questions are no such answer. */
const isRefusal = (error: unknown): boolean =>
  error instanceof GateError && error.status >= 400 && error.status < 500 && error.status !== 429;
