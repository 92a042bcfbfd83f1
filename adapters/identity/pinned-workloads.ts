import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { type PinnedWorkload, pinnedWorkloads } from '../../contracts/identity.js';

/** The processes that may ask for certificates. Throws for a file that is not one, or names one of them twice. */
export async function readPinnedWorkloads(file: string): Promise<readonly PinnedWorkload[]> {
  const read = pinnedWorkloads.safeParse(JSON.parse(await readFile(file, 'utf8')));
  if (!read.success) throw new Error(`${file}: ${z.prettifyError(read.error)}`);
  const { workloads } = read.data;
  if (new Set(workloads.map(({ name }) => name)).size < workloads.length) throw new Error(`${file} names one twice`);
  return workloads;
}
