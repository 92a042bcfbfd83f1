import { GateError } from '../../errors.js';

/**
 * The files of the table, in a folder or an object store. Each is named by its path below the table. Every fault is
 * `export_sink_unavailable`.
 */
export interface ColdFiles {
  /** The table's base URI for readers. It never changes and has no trailing slash. */
  readonly location: string;
  /** Writes or replaces the file atomically; durable when it resolves. Safe to repeat. */
  write(file: string, content: Uint8Array | string): Promise<void>;
  /** Writes the file only if it does not exist; `false` when it does, with nothing changed. Of two concurrent writers one gets `true`. */
  create(file: string, content: string): Promise<boolean>;
  /** `null` when there is no such file. */
  read(file: string): Promise<string | null>;
  /** SHA-256 of the file's bytes as 64 hex digits. A missing file is a fault. */
  digest(file: string): Promise<string>;
}

export const sinkUnavailable = (detail: string, cause?: unknown): GateError =>
  new GateError('export_sink_unavailable', detail, { cause });
