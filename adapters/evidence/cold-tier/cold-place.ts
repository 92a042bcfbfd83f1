import type { ColdSink } from './cold-tier.js';
import { folderFiles } from './folder.js';
import { s3Files, type S3Place } from './s3.js';

/** Where cold copies go, as configured. Plain values, so that they can be sent to a thread. */
export interface ColdPlace {
  readonly at: { readonly directory: string } | S3Place;
  /** The table's base URI for readers, when it differs from the place the files are written to. */
  readonly uri?: string | undefined;
  /** Only rows at least this old are exported. */
  readonly retentionMs: number;
}

export const coldSinkAt = ({ at, uri, retentionMs }: ColdPlace): ColdSink => ({
  files: 'directory' in at ? folderFiles({ directory: at.directory, uri }) : s3Files(at, { uri }),
  retentionMs,
});
