import { GateError } from '../../errors.js';

/**
 * Where the files of the table lie; each is named by its path below the table. What keeps them from being read or written is
 * `export_sink_unavailable`.
 */
export interface ColdFiles {
  /** How readers address the table, for good; no slash at its end. */
  readonly location: string;
  /** Whole or not at all, and kept when it returns; in the place of one that is there. Safe to repeat. */
  write(file: string, content: Uint8Array | string): Promise<void>;
  /** The same where there is no such file; `false`, with nothing changed, where there is one. Of two writers at once one is told `true`. */
  create(file: string, content: string): Promise<boolean>;
  /** `null` where there is no such file. */
  read(file: string): Promise<string | null>;
  /** SHA-256 of its bytes, 64 hex digits; a file that is not there is a fault. */
  digest(file: string): Promise<string>;
}

export const sinkUnavailable = (detail: string, cause?: unknown): GateError =>
  new GateError('export_sink_unavailable', detail, { cause });
