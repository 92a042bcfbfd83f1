import { gunzipSync, gzipSync } from 'node:zlib';
import { type TarFile, tarStream } from '../../adapters/evidence/regulatory/tar.js';

/** The files of a tar.gz by name, as they lie in it. */
export function unpack(archive: Uint8Array): Map<string, Buffer> {
  const bytes = gunzipSync(archive);
  const files = new Map<string, Buffer>();
  for (let at = 0; bytes[at] !== 0; ) {
    const name = bytes.toString('latin1', at, at + 100).replace(/\0.*$/s, '');
    const size = Number.parseInt(bytes.toString('latin1', at + 124, at + 135), 8);
    files.set(name, Buffer.from(bytes.subarray(at + 512, at + 512 + size)));
    at += 512 + Math.ceil(size / 512) * 512;
  }
  return files;
}

/** A tar.gz of files, as somebody who forges a bundle would make it. */
export async function pack(files: ReadonlyMap<string, Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  const list: TarFile[] = [...files].map(([name, bytes]) => ({ name, bytes }));
  for await (const part of tarStream(list, 0)) parts.push(part);
  return gzipSync(Buffer.concat(parts));
}
