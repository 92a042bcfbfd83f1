import { readFile, stat } from 'node:fs/promises';
import { z } from 'zod';
import { errorText } from '../../domain/errors.js';
import { parseStrictJson } from '../../domain/mcp/strict-json.js';
import { isSubjectOf } from '../../domain/review/vouching.js';

/** Somebody who signs in with a certificate, as the registry has him. */
export interface RegisteredOperator {
  /** SHA-256 of the certificate's DER, 64 hex digits. */
  readonly fingerprint: string;
  readonly spiffe: string;
  readonly role: 'admin' | 'approver' | 'viewer';
  readonly tenant: string;
  readonly expiresMs: number;
  readonly active: boolean;
}

export interface OperatorRegistry {
  /** Everybody, as the file says now; nobody while it cannot be read. */
  current(): Promise<readonly RegisteredOperator[]>;
  /** Rejects with the reason while the file cannot be read. */
  ready(): Promise<void>;
}

/** What became of the file: it cannot be read, or it has other operators than before. */
export type RegistryChange =
  | { readonly fault: string }
  | { readonly before: readonly RegisteredOperator[]; readonly now: readonly RegisteredOperator[] };

const LONGEST = 1_048_576;

const operators = z
  .array(
    z.strictObject({
      fingerprint_sha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 hex digits in lower case'),
      spiffe: z.string().refine((id) => isSubjectOf('operator-mtls', `mtls:${id}`), 'must be a SPIFFE id'),
      role: z.enum(['admin', 'approver', 'viewer']),
      tenant: z.string().regex(/^[A-Za-z0-9._-]{1,63}$/, 'must be a tenant'),
      expires_at: z.iso.datetime(),
      active: z.boolean(),
    }),
  )
  .refine(
    (entries) => new Set(entries.map(({ fingerprint_sha256: of }) => of)).size === entries.length,
    'has a certificate twice, so its role is not known',
  );

/** Reads the text of a registry. Throws with its fault. */
export function readOperators(text: string): readonly RegisteredOperator[] {
  const read = operators.safeParse(parseStrictJson(text));
  if (!read.success) {
    const [first] = read.error.issues;
    throw new Error([first?.path.join('.'), first?.message].filter((part) => part).join(': '));
  }
  return read.data.map(({ fingerprint_sha256: fingerprint, expires_at, ...entry }) => ({
    ...entry,
    fingerprint,
    expiresMs: Date.parse(expires_at),
  }));
}

/**
 * The file of the operators, read again whenever it was changed. Rejects when it cannot be read now. While it cannot be read later, it has
 * nobody. `changed` is told of each, before anybody is told who the operators are now.
 */
export async function openOperatorRegistry(
  file: string,
  changed: (change: RegistryChange) => Promise<void>,
): Promise<OperatorRegistry> {
  const stampOf = async (): Promise<string> => {
    const { ino, size, mtimeNs, ctimeNs } = await stat(file, { bigint: true });
    return [ino, size, mtimeNs, ctimeNs].join(' ');
  };
  const readNow = async (): Promise<readonly RegisteredOperator[]> => {
    const text = await readFile(file, 'utf8');
    if (text.length > LONGEST) throw new Error(`it is longer than ${LONGEST} characters`);
    return readOperators(text);
  };
  // The stamp is taken before the text: a change in between is read at the next request.
  let stamp = await stampOf();
  let known = await readNow();
  let fault: string | null = null;
  const look = async (): Promise<void> => {
    try {
      const newest = await stampOf();
      if (newest === stamp) return;
      const now = await readNow();
      const before = known;
      stamp = newest;
      known = now;
      fault = null;
      await changed({ before, now });
    } catch (error) {
      const why = errorText(error);
      // Read again until it can be read.
      stamp = '';
      const isNews = fault !== why;
      fault = why;
      if (isNews) await changed({ fault: why });
    }
  };
  let looking: Promise<void> | null = null;
  const looked = async (): Promise<void> => {
    looking ??= look().finally(() => {
      looking = null;
    });
    await looking;
  };
  return {
    async current() {
      await looked();
      return fault === null ? known : [];
    },
    async ready() {
      await looked();
      if (fault !== null) throw new Error(fault);
    },
  };
}
