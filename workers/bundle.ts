import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, type WorkflowBundle } from '@temporalio/worker';
import { PRIVATE_FILE, PUBLIC_FILE, readIfPresent, replaceFile } from '../adapters/store/durable-file.js';
import { PROJECT_ROOT } from '../config/project-root.js';
import { failureConverterPath } from './client.js';

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const workflowsPath = here('../workflows/index.js');
/** What workflow code may import, besides packages, whose versions are pinned. */
export const SOURCES = ['workflows', 'domain', 'contracts', 'activities', 'workers'];
const CACHE = join(PROJECT_ROOT, '.cache', 'workflows');

/**
 * The workflow code as one bundle; a start needs it once, and tests share it. Making it takes half of a start, so it is stored under a
 * digest of its sources; if it cannot be stored, it is made each time.
 */
export async function bundleWorkflows(cache = CACHE): Promise<WorkflowBundle & { readonly kept: boolean }> {
  const file = join(cache, `${workflowSourcesDigest()}.js`);
  const kept = keptIn(file);
  if (kept !== null) return { code: kept, kept: true };
  const { code } = await bundleWorkflowCode({
    workflowsPath,
    // Loaded once for all workflows instead of once for each. What these modules hold at their top level never changes.
    preloadModules: [workflowsPath],
    // Workflows create failures too; a bundle without the converter would leave their texts unencrypted.
    failureConverterPath,
    logger: quiet,
  });
  try {
    mkdirSync(cache, { recursive: true, mode: 0o700 });
    for (const old of readdirSync(cache)) rmSync(join(cache, old), { force: true });
    replaceFile(file, code, PRIVATE_FILE);
  } catch {
    // In a folder that cannot be written, the next start makes it again.
    return { code, kept: false };
  }
  return { code, kept: true };
}

function keptIn(file: string): string | null {
  try {
    // It may be readable by others, because nothing in it is secret: an image contains it in a folder whose modes cannot be changed.
    return readIfPresent(file, PUBLIC_FILE);
  } catch {
    return null;
  }
}

const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };

/** What the bundle of a program is kept under: `root` is the folder of its package.json, `code` that of its built code. */
export function workflowSourcesDigest(root = PROJECT_ROOT, code = here('..')): string {
  const digest = createHash('sha256').update(`${root}\0${process.version}\0`);
  // The lock file says which packages are in the bundle; an image without one has packages that never change.
  for (const name of ['package.json', 'package-lock.json'])
    if (existsSync(join(root, name))) digest.update(`\0${name}\0`).update(readFileSync(join(root, name)));
  for (const folder of SOURCES)
    for (const name of readdirSync(join(code, folder), { recursive: true, encoding: 'utf8' }).sort())
      if (/(?<!\.test)\.js$/.test(name))
        digest.update(`\0${folder}/${name}\0`).update(readFileSync(join(code, folder, name)));
  return digest.digest('hex');
}
