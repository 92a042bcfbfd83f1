import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** How many of these bytes are in some file of the folder: a database, or a log beside it. */
export async function foundInFiles(folder: string, probes: readonly Buffer[]): Promise<number> {
  const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name))));
  return probes.filter((probe) => files.some((bytes) => bytes.includes(probe))).length;
}
