/** One file of a tar archive (POSIX ustar: 512-byte headers, name at 0, octal size at 124). */
export function fileInTar(archive: Buffer, name: string): Buffer {
  for (let offset = 0; offset + 512 <= archive.length; ) {
    const entry = archive.toString('latin1', offset, offset + 100).replace(/\0.*$/s, '');
    const size = Number.parseInt(archive.toString('latin1', offset + 124, offset + 136), 8) || 0;
    if (entry === name) return archive.subarray(offset + 512, offset + 512 + size);
    offset += 512 + Math.ceil(size / 512) * 512;
  }
  throw new Error(`the bundle holds no ${name}`);
}
