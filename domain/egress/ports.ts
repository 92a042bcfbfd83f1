/** A callback on its way out: the same bytes at every attempt. */
export interface Callback {
  readonly url: string;
  /** JSON text. */
  readonly body: string;
  readonly correlationId: string;
}

/** Sends one callback, one attempt. Throws; an error with `final: true` says that another attempt cannot help. */
export type DeliverCallback = (callback: Callback) => Promise<void>;
