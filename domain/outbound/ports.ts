/** A callback to send, with the same bytes on every attempt. */
export interface Callback {
  readonly url: string;
  /** JSON text. */
  readonly body: string;
  readonly correlationId: string;
}

/** Makes one attempt to send a callback. Throws; an error with `final: true` means that another attempt cannot help. */
export type DeliverCallback = (callback: Callback) => Promise<void>;
