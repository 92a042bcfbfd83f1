/** A file that is sent as it is made. */
export interface Download {
  readonly type: string;
  readonly filename: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
}
