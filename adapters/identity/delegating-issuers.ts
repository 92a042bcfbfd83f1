import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { label } from '../../contracts/identity.js';
import { isLoopback } from '../../domain/outbound/loopback.js';
import type { DelegatingIssuer } from './id-tokens.js';

const address = z.url({ protocol: /^https?$/, message: 'must be an http(s):// URL' }).refine((text) => {
  const { protocol, hostname, search, hash, username, password } = new URL(text);
  return (protocol === 'https:' || isLoopback(hostname)) && search + hash + username + password === '';
}, 'must be https, except on this machine, with neither query, nor fragment, nor user');

const issuer = z
  .strictObject({
    /** Whose agents its people may delegate to. */
    tenant: label,
    /** As grants and rows name it. */
    name: z.string().regex(/^[\x21-\x7e]{1,64}$/, 'must be 1 to 64 printable characters without spaces'),
    /** As it writes itself in `iss`. */
    issuer: address,
    /** What its ID tokens are made for: the client that the person signs in to. */
    audience: z.string().min(1).max(1_024),
    jwks_url: address.optional(),
    jwks_file: z.string().min(1).optional(),
  })
  .refine(({ jwks_url: url, jwks_file: file }) => url === undefined || file === undefined, {
    message: 'jwks_url, jwks_file: name one or none',
  });

const unique = (values: readonly string[]): boolean => new Set(values).size === values.length;

/** Two tenants that share an issuer could not be told apart. */
const delegatingIssuers = z
  .strictObject({ issuers: z.array(issuer).min(1).max(1_000) })
  .refine(({ issuers }) => unique(issuers.map((one) => one.issuer)), 'an issuer stands there twice')
  .refine(({ issuers }) => unique(issuers.map((one) => one.name)), 'a name stands there twice');

/** The issuers of a file (`GATE_IDENTITY_OIDC_ISSUERS_FILE`). Throws what is wrong with it. */
export async function readDelegatingIssuers(file: string): Promise<readonly DelegatingIssuer[]> {
  const read = delegatingIssuers.safeParse(JSON.parse(await readFile(file, 'utf8')));
  if (!read.success) throw new Error(`${file}: ${z.prettifyError(read.error)}`);
  return read.data.issuers.map(({ tenant, name, issuer: iss, audience, jwks_url: url, jwks_file: keys }) => ({
    tenant,
    name,
    issuer: iss,
    audience,
    keys: keys === undefined ? { url } : { file: keys },
  }));
}
