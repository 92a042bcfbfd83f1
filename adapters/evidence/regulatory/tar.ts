import { createReadStream } from 'node:fs';

/** A file of a bundle: in memory, or on disk when it may be long. */
export type TarFile =
  | { readonly name: string; readonly bytes: Buffer }
  | { readonly name: string; readonly path: string; readonly size: number };

const BLOCK = 512;
const MAX_SIZE = 8 ** 11 - 1;

/** The files as a ustar archive (POSIX 1003.1), in pieces. Plain files with mode 644 and no owner name. */
export async function* tarStream(files: readonly TarFile[], mtimeSeconds: number): AsyncGenerator<Buffer> {
  for (const file of files) {
    const size = 'bytes' in file ? file.bytes.length : file.size;
    yield header(file.name, size, mtimeSeconds);
    if ('bytes' in file) {
      yield file.bytes;
    } else {
      let read = 0;
      for await (const piece of createReadStream(file.path) as AsyncIterable<Buffer>) {
        read += piece.length;
        yield piece;
      }
      if (read !== size) throw new Error(`${file.name} changed while it was packed`);
    }
    const rest = size % BLOCK;
    if (rest > 0) yield Buffer.alloc(BLOCK - rest);
  }
  yield Buffer.alloc(2 * BLOCK);
}

function header(name: string, size: number, mtimeSeconds: number): Buffer {
  if (Buffer.byteLength(name) > 100) throw new RangeError(`${name}: the name is longer than 100 bytes`);
  if (size > MAX_SIZE) throw new RangeError(`${name} is larger than an archive of this kind can hold`);
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, length: number, at: number) =>
    block.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at, 'latin1');
  block.write(name, 0, 'utf8');
  octal(0o644, 8, 100);
  octal(0, 8, 108);
  octal(0, 8, 116);
  octal(size, 12, 124);
  octal(mtimeSeconds, 12, 136);
  block.write('0', 156, 'latin1');
  block.write('ustar\x0000', 257, 'latin1');
  block.fill(0x20, 148, 156);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return block;
}
