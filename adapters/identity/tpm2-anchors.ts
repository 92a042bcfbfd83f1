import { createPublicKey, hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { isWholeP256 } from '../../domain/crypto/spki.js';
import type { Tpm2Anchor } from '../../domain/identity/tpm2-quote.js';

const MOST_PCR = 23;
const anchor = z.strictObject({
  ak_key_id: z.string().regex(/^[\x21-\x7e]{1,128}$/, 'must be 1 to 128 printable characters without spaces'),
  platform_issuer: z.string().regex(/^[\x21-\x7e]{1,256}$/, 'must be 1 to 256 printable characters without spaces'),
  /** The public key that signs quotes (SPKI). */
  public_pem: z.string(),
  /** As `tpm2_readpublic --qualified-name` writes it, in hex. */
  qualified_name: z.string().regex(/^000b[0-9a-f]{64}$/, 'must be a name by SHA-256 in hex: 000b and 64 digits'),
  pcrs: z
    .array(z.number().int().min(0).max(MOST_PCR))
    .min(1)
    .refine((all) => all.every((pcr, at) => at === 0 || pcr > (all[at - 1] as number)), 'must ascend'),
});
type AnchorText = z.infer<typeof anchor>;
const anchorsFile = z.strictObject({ anchors: z.array(z.unknown()).min(1).max(100_000) });

/** Throws what is wrong with it. */
export function tpm2AnchorOf(text: unknown): Tpm2Anchor {
  const read = anchor.safeParse(text);
  if (!read.success) throw new Error(z.prettifyError(read.error));
  const {
    ak_key_id: akKeyId,
    platform_issuer: platformIssuer,
    public_pem,
    qualified_name,
    pcrs,
  }: AnchorText = read.data;
  const publicKey = createPublicKey(public_pem);
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  if (!isWholeP256(spki)) throw new Error(`${akKeyId}: public_pem is not an ECDSA P-256 key`);
  return {
    akKeyId,
    platformIssuer,
    trustAnchorId: `sha256:${hash('sha256', spki)}`,
    publicKey,
    qualifiedName: Buffer.from(qualified_name, 'hex'),
    pcrs,
  };
}

/** The keys of a file (`GATE_IDENTITY_TPM2_ANCHORS_FILE`) by their names. Throws what is wrong with it. */
export async function readTpm2Anchors(file: string): Promise<ReadonlyMap<string, Tpm2Anchor>> {
  try {
    const read = anchorsFile.safeParse(JSON.parse(await readFile(file, 'utf8')));
    if (!read.success) throw new Error(z.prettifyError(read.error));
    const all = read.data.anchors.map(tpm2AnchorOf);
    const byName = new Map(all.map((one) => [one.akKeyId, one]));
    if (byName.size < all.length) throw new Error('an ak_key_id stands there twice');
    return byName;
  } catch (error) {
    throw new Error(`${file}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}
