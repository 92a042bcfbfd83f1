import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { link, mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type ColdFiles, sinkUnavailable } from '../../../domain/evidence/cold-tier/files.js';

/** The table in a local folder. `uri` is its base URI for readers; by default the folder's path. */
export function folderFiles({
  directory,
  uri,
}: {
  readonly directory: string;
  readonly uri?: string | undefined;
}): ColdFiles {
  const root = resolve(directory);
  const path = (file: string) => join(root, file);

  /** Writes and fsyncs a temporary file beside the target, then lets `place` move it there. */
  async function put(file: string, content: Uint8Array | string, place: (aside: string) => Promise<void>) {
    const folder = dirname(file);
    await mkdir(folder, { recursive: true });
    const aside = `${file}.${randomUUID()}.tmp`;
    try {
      const handle = await open(aside, 'w', 0o640);
      try {
        await handle.writeFile(content);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await place(aside);
    } finally {
      await rm(aside, { force: true });
    }
    const entries = await open(folder, 'r');
    try {
      await entries.sync();
    } finally {
      await entries.close();
    }
  }

  return {
    location: (uri ?? pathToFileURL(root).href).replace(/(?<!\/)\/+$/, ''),
    write: (file, content) => folderFaults(() => put(path(file), content, (aside) => rename(aside, path(file)))),
    create: (file, content) =>
      folderFaults(async () => {
        try {
          // Linking fails when the name is taken; renaming would replace the file.
          await put(path(file), content, (aside) => link(aside, path(file)));
          return true;
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
          throw error;
        }
      }),
    digest: (file) =>
      folderFaults(async () => {
        const digest = createHash('sha256');
        for await (const piece of createReadStream(path(file))) digest.update(piece as Buffer);
        return digest.digest('hex');
      }),
    read: (file) =>
      folderFaults(async () => {
        try {
          return await readFile(path(file), 'utf8');
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
          throw error;
        }
      }),
  };
}

/** A file system error is a fault of the sink, not of the ledger's store. */
async function folderFaults<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw sinkUnavailable(`the folder of exports cannot be used: ${(error as NodeJS.ErrnoException).message}`, error);
  }
}
