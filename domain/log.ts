/** The part of a log that the logic writes to: what happened, then a text that says so. */
export interface Log {
  warn(fields: object, text: string): void;
  error(fields: object, text: string): void;
}
