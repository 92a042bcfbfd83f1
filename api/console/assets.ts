import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PROJECT_ROOT } from '../../config/project-root.js';

/** A file that pages load. Its address names its content, so that a browser may keep it for ever. */
export interface Asset {
  readonly path: string;
  readonly type: string;
  readonly body: Buffer;
}

export interface Assets {
  readonly style: Asset;
  readonly script: Asset;
}

/** Made by `npm run build` from `console/browser`. */
const FOLDER = join(PROJECT_ROOT, 'dist', 'console', 'static');

export async function readAssets(): Promise<Assets> {
  const asset = async (name: string, type: string): Promise<Asset> => {
    const body = await readFile(join(FOLDER, name));
    const digest = createHash('sha256').update(body).digest('hex').slice(0, 16);
    return { path: `/static/${digest}/${name}`, type, body };
  };
  return {
    style: await asset('console.css', 'text/css; charset=utf-8'),
    script: await asset('console.js', 'text/javascript; charset=utf-8'),
  };
}
