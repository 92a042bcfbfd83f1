import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { BundleVerdict } from '../../../domain/ledger/tlog/proof-bundle.js';

type VerifyBundle = (archive: Uint8Array, publicKeyPem: string | null) => Omit<BundleVerdict, 'proved'>;

/**
 * Checks a regulatory bundle (docs/architecture/ledger-reads.md#regulatory-bundle) with the same script that auditors get:
 * `bin/verify-regulatory-bundle.mjs`, which needs nothing else of Gate. Without a public key it checks everything but the signature, and
 * the verdict is not `valid`. Throws when the file cannot be read.
 */
export async function verifyRegulatoryBundle(
  path: string,
  { publicKeyPem = null }: { readonly publicKeyPem?: string | null } = {},
): Promise<BundleVerdict> {
  const script = ['../../../', '../../../../']
    .map((up) => new URL(`${up}bin/verify-regulatory-bundle.mjs`, import.meta.url))
    .find((candidate) => existsSync(candidate));
  if (!script) throw new Error('bin/verify-regulatory-bundle.mjs is missing from this installation');
  const { verifyBundle } = (await import(script.href)) as { verifyBundle: VerifyBundle };
  const verdict = verifyBundle(await readFile(path), publicKeyPem);
  return { ...verdict, proved: verdict.valid && publicKeyPem !== null };
}
