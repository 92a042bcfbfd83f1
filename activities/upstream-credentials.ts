/** Who Gate is to an upstream. Secrets stay in here: they are in no outcome, no error and no log line. */
export interface Credentials {
  /** Headers of the next request. Rejects with CredentialsMissing where there are none; then nothing is sent. */
  headers(): Promise<Readonly<Record<string, string>>>;
  /** The upstream did not accept a request with these headers. */
  refused(sent: Readonly<Record<string, string>>): void;
  /** What must not come back in an answer. */
  secrets(): readonly string[];
  close(): Promise<void>;
}

/** Gate cannot say who it is. Nothing was sent to the upstream. */
export class CredentialsMissing extends Error {
  constructor(why: string) {
    super(`no credentials for the upstream: ${why}`);
    this.name = 'CredentialsMissing';
  }
}

/** A secret as it is now. Throws CredentialsMissing. */
export type Secret = () => string;

export function headerCredentials(header: string, scheme: string | undefined, secret: Secret): Credentials {
  let last: string | null = null;
  return {
    headers() {
      try {
        last = secret();
        return Promise.resolve({ [header]: scheme === undefined ? last : `${scheme} ${last}` });
      } catch (error) {
        return Promise.reject(error as Error);
      }
    },
    refused: () => undefined,
    secrets: () => (last === null ? [] : [last]),
    close: () => Promise.resolve(),
  };
}
