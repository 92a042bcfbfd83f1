import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { PeerCertificate } from 'node:tls';
import { Agent, request } from 'undici';
import { z } from 'zod';
import { trustDomainName } from '../../contracts/actor-tokens.js';
import { spiffeBundle } from '../../contracts/identity.js';
import { sha256Hex } from '../../domain/crypto/digest.js';
import type { FetchBundle, Peer } from '../../domain/identity/peer-bundles.js';
import { isLabel, serviceSpiffe, spiffeOfCertificate } from '../../domain/identity/spiffe.js';
import { certificatesOf } from './svid-signer.js';

const bundleUrl = z.url({ protocol: /^https$/, message: 'must be an https:// URL' }).refine((text) => {
  const { hash, username, password } = new URL(text);
  return hash + username + password === '';
}, 'must have neither a fragment nor a user');
/** `tenant/agent`. */
const agentKey = z
  .string()
  .refine((text) => text.split('/').length === 2 && text.split('/').every(isLabel), 'must be a tenant, / and an agent')
  .transform((text) => {
    const [tenant = '', agent = ''] = text.split('/');
    return { tenant, agent };
  });

const peer = z
  .strictObject({
    trust_domain: trustDomainName,
    /** Where it publishes what its tokens are verified with, as `GET /.well-known/spiffe-bundle` does. */
    bundle_url: bundleUrl.optional(),
    /** Its CAs, as PEM: they prove that address the first time. */
    ca_file: z.string().min(1).optional(),
    /** As whom its calls come here. */
    agents: z.array(agentKey).max(1_000).default([]),
  })
  .refine(({ bundle_url: url, ca_file: ca }) => (url === undefined) === (ca === undefined), {
    message: 'has both of `bundle_url` and `ca_file`, or neither',
  });

const file = z
  .strictObject({ peers: z.array(peer).min(1).max(100) })
  .refine(
    ({ peers }) => new Set(peers.map((one) => one.trust_domain)).size === peers.length,
    'a trust domain stands there twice',
  );

/** The other Gates of a file (`GATE_IDENTITY_PEERS_FILE`), and this one itself where it is among them. Throws what is wrong with it. */
export async function readPeers(name: string, ownTrustDomain: string): Promise<readonly Peer[]> {
  const read = file.safeParse(JSON.parse(await readFile(name, 'utf8')));
  if (!read.success) throw new Error(`${name}: ${z.prettifyError(read.error)}`);
  return Promise.all(
    read.data.peers.map(async ({ trust_domain: trustDomain, bundle_url: url, ca_file: caFile, agents }) => {
      const isOwn = trustDomain === ownTrustDomain;
      if (url === undefined || caFile === undefined) {
        if (agents.length > 0 && !isOwn)
          throw new Error(
            `${name}: ${trustDomain}: its calls come as \`agents\`, and no \`bundle_url\` says by which keys`,
          );
        return { trustDomain, agents, bundle: null };
      }
      if (isOwn)
        throw new Error(`${name}: ${trustDomain} is this Gate: it needs neither \`bundle_url\` nor \`ca_file\``);
      const ca = await readFile(caFile, 'utf8');
      if (certificatesOf(ca).length === 0) throw new Error(`${name}: ${trustDomain}: ${caFile} holds no certificate`);
      return { trustDomain, agents, bundle: { url, ca, pinnedSha256: sha256Hex(ca) } };
    }),
  );
}

const LIMIT_MS = 5_000;
const MOST_BYTES = 262_144;

/** Asks the identity of another Gate for its bundle (SPIFFE Federation 5.2.2, `https_spiffe`): its SPIFFE id says that it is that one, and not its host name. */
export const fetchBundle: FetchBundle = async ({ trustDomain, url, ca }) => {
  const expected = serviceSpiffe(trustDomain, 'identity');
  const dispatcher = new Agent({
    connect: {
      ca,
      minVersion: 'TLSv1.3',
      timeout: LIMIT_MS,
      maxCachedSessions: 0,
      checkServerIdentity: (_host: string, { raw }: PeerCertificate) => {
        const shown = spiffeOfCertificate(new X509Certificate(raw));
        return shown === expected
          ? undefined
          : new Error(`the server is ${shown ?? 'without a SPIFFE id'}, not ${expected}`);
      },
    },
    maxResponseSize: MOST_BYTES,
  });
  try {
    const { statusCode, body } = await request(url, {
      dispatcher,
      headers: { accept: 'application/json' },
      signal: AbortSignal.timeout(LIMIT_MS),
    });
    const text = await body.text();
    if (statusCode !== 200) throw new Error(`its bundle was answered with HTTP ${statusCode}`);
    return spiffeBundle.parse(JSON.parse(text));
  } finally {
    await dispatcher.destroy();
  }
};
