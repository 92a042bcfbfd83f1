/** PEM text. `ca` verifies the peer; `cert` and `key` are one's own. */
export interface TlsCredential {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** A certificate that is renewed while it is used: whoever makes connections asks for it each time, or listens. */
export interface LiveTls {
  /** Resolves when there is one. */
  had(): Promise<unknown>;
  /** Throws `workload_certificate_ended` where it has ended, or none came yet. */
  now(): TlsCredential;
  /** Resolves when the asking that is under way is over; where the certificate ended unnoticed, as while a machine slept, that begins now. */
  settled(): Promise<unknown>;
  /** The CAs that are trusted now, as PEM; also where the certificate has ended. */
  trusted(): string;
  /** For identity alone, which says itself which CAs count. */
  trust?(published: { readonly sequence: number; readonly ca: string }): void;
  /** Called with each that takes the place of the one before, and with the one that stays where other CAs are trusted; the answer ends that. */
  onRenewed(listener: (next: TlsCredential) => void): () => void;
  /** For readiness: throws where it has ended, and says what is wrong where renewing fails. */
  ready(): string | undefined;
}

/** What connections are made with: fixed, or `live`, which then counts alone. */
export interface TlsMaterial extends TlsCredential {
  readonly live?: LiveTls;
}

/** The same certificate, for who verifies its peers by another CA. */
export const withCa = (live: LiveTls, ca: string): LiveTls => ({
  ...live,
  now: () => ({ ...live.now(), ca }),
  trusted: () => ca,
  onRenewed: (listener) => live.onRenewed((next) => listener({ ...next, ca })),
});

/** The CAs that are trusted whenever it is asked, as PEM. */
export const trustedBy =
  ({ ca, live }: Pick<TlsMaterial, 'ca' | 'live'>): (() => string) =>
  () =>
    live?.trusted() ?? ca;

export const hasEnded = (live: LiveTls): boolean => {
  try {
    live.now();
    return false;
  } catch {
    return true;
  }
};

/** Whether there is a certificate that counts, after a moment where it just ended. */
export const countsSoon = async (live: LiveTls): Promise<boolean> => {
  await live.settled();
  return !hasEnded(live);
};
