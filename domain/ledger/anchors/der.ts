/** One DER value (X.690): its tag, its content and its whole encoding. */
export interface Der {
  /** The identifier byte: class, constructed bit and tag number. */
  readonly tag: number;
  readonly content: Buffer;
  /** The whole encoding, with identifier and length, as it was signed. */
  readonly raw: Buffer;
}

/** Tags that occur in time stamps. */
export const TAG = {
  boolean: 0x01,
  integer: 0x02,
  octets: 0x04,
  null: 0x05,
  oid: 0x06,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
  /** Context-specific, constructed: `[n]`. */
  context: (n: number): number => 0xa0 + n,
} as const;

/** Reads a sequence of values. Throws on anything but definite lengths in their shortest form. */
export function readAll(bytes: Uint8Array): Der[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const values: Der[] = [];
  for (let at = 0; at < buffer.length; ) {
    const tag = buffer[at] as number;
    if ((tag & 0x1f) === 0x1f) throw new Error('a tag of more than one byte');
    let length = buffer[at + 1] ?? -1;
    let start = at + 2;
    if (length >= 0x80) {
      const size = length & 0x7f;
      if (size === 0 || size > 4 || start + size > buffer.length) throw new Error('an invalid length');
      length = buffer.readUIntBE(start, size);
      start += size;
      if (length < 0x80 || (size > 1 && length < 256 ** (size - 1)))
        throw new Error('a length not in its shortest form');
    }
    if (length < 0 || start + length > buffer.length) throw new Error('a value that is cut off');
    values.push({ tag, content: buffer.subarray(start, start + length), raw: buffer.subarray(at, start + length) });
    at = start + length;
  }
  return values;
}

/** Reads exactly one value; throws when there are more or fewer. */
export function readOne(bytes: Uint8Array): Der {
  const [value, ...more] = readAll(bytes);
  if (!value || more.length > 0) throw new Error('not exactly one value');
  return value;
}

/** The values inside a constructed value. Throws when the tag differs. */
export function parts(value: Der | undefined, tag: number): Der[] {
  return readAll(contentOf(value, tag));
}

/** The content of a value. Throws when the tag differs. */
export function contentOf(value: Der | undefined, tag: number): Buffer {
  if (!value || value.tag !== tag) throw new Error(`a value of another kind (${value?.tag ?? 'none'}, not ${tag})`);
  return value.content;
}

export function oidOf(value: Der | undefined): string {
  const bytes = contentOf(value, TAG.oid);
  const numbers: number[] = [];
  let number = 0;
  for (const byte of bytes) {
    number = number * 128 + (byte & 0x7f);
    if ((byte & 0x80) === 0) {
      numbers.push(number);
      number = 0;
    }
  }
  const first = numbers.shift() ?? 0;
  const root = Math.min(Math.floor(first / 40), 2);
  return [root, first - root * 40, ...numbers].join('.');
}

/** Encodes a value with that tag and content. */
export function write(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content);
  if (body.length < 0x80) return Buffer.concat([Buffer.from([tag, body.length]), body]);
  const size = Math.ceil(Math.log2(body.length + 1) / 8);
  const length = Buffer.alloc(size);
  length.writeUIntBE(body.length, 0, size);
  return Buffer.concat([Buffer.from([tag, 0x80 + size]), length, body]);
}
