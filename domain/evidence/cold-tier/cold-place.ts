import type { ColdSink } from './cold-tier.js';
import { folderFiles } from './folder.js';
import { s3Files, type S3Place } from './s3.js';

/** Where cold copies go, as it is written in the settings: plain values, so that a thread can be told. */
export interface ColdPlace {
  readonly at: { readonly directory: string } | S3Place;
  /** How readers address the table, where that is not by its place. */
  readonly uri?: string | undefined;
  /** Only rows at least this old are exported. */
  readonly retentionMs: number;
}

export const coldSinkAt = ({ at, uri, retentionMs }: ColdPlace): ColdSink => ({
  files: 'directory' in at ? folderFiles({ directory: at.directory, uri }) : s3Files(at, { uri }),
  retentionMs,
});
