import { generateKeyPairSync, randomBytes, randomUUID, type X509Certificate } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { SignJWT } from 'jose';
import { createAuthority } from '../adapters/identity/certificate-authority.js';
import { readCertificateRequest } from '../adapters/identity/certificate-request.js';
import { createGrantTokens } from '../adapters/identity/grant-tokens.js';
import { openIdTokens } from '../adapters/identity/id-tokens.js';
import { openIdentityStore } from '../adapters/identity/identity-store.js';
import { newCertificateRequest } from '../adapters/identity/new-request.js';
import { certificatesOf, svidSigner } from '../adapters/identity/svid-signer.js';
import { judgeGrant } from '../api/proxy/grants.js';
import { parseKeyRing } from '../domain/crypto/key-ring.js';
import { createGranting } from '../domain/identity/granting.js';
import { createIssuing } from '../domain/identity/issuing.js';
import { createSigner } from '../domain/identity/signer.js';
import { agentName, fingerprintOf } from '../domain/identity/spiffe.js';
import { type Pressed, press } from './load.js';
import { quantile, rounded } from './numbers.js';
import { CONCURRENT } from './sides.js';

interface IdentityRow {
  readonly what: string;
  readonly done: number;
  readonly per_second: number;
  readonly per_second_at_16: number;
  readonly p50_us: number;
  readonly p99_us: number;
}

const TRUST_DOMAIN = 'gate.local';
const TENANT = 'acme';
const ISSUER = 'https://id.example';
const AUDIENCE = 'delegations';
/** An agent has a hundred grants that count at most. */
const GRANTS_OF_ONE = 50;
/** More than are asked for in the time of a round. */
const MOST = 4_000;

/** What identity does in a second over a store in a file, and what its grants cost a call. Requests and tokens are made before, outside of the time. */
export async function runIdentityBench({
  roundMs,
  say,
}: {
  readonly roundMs: number;
  readonly say: (line: string) => void;
}): Promise<readonly IdentityRow[]> {
  const folder = await mkdtemp(join(tmpdir(), 'gate-bench-identity-'));
  const closing: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  try {
    const keys = parseKeyRing(`bench:${randomBytes(32).toString('hex')}`);
    const store = await openIdentityStore({ file: join(folder, 'identity.db') }, keys);
    closing.unshift(() => store.close());
    await store.bundleSequence('bench');
    const ca = await createAuthority(TRUST_DOMAIN, {
      notBefore: new Date(Date.now() - 60_000),
      notAfter: new Date(Date.now() + 86_400_000),
    });
    const clock = Date.now;
    const issuing = createIssuing({ store, signer: svidSigner(ca.cert, ca.key), trustDomain: TRUST_DOMAIN, clock });
    const rows: IdentityRow[] = [];
    const measured = async (what: string, call: () => Promise<unknown>, most = MOST): Promise<void> => {
      say(what);
      const asked = () => call().then(() => '200');
      // A process that has just begun runs its code uncompiled.
      await press({ concurrency: 1, forMs: roundMs / 4, maxCalls: most / 8 }, asked);
      const alone = await press({ concurrency: 1, forMs: roundMs, maxCalls: most / 4 }, asked);
      const crowd = await press({ concurrency: CONCURRENT, forMs: roundMs, maxCalls: most / 2 }, asked);
      for (const { answers } of [alone, crowd])
        for (const answer of Object.keys(answers)) if (answer !== '200') throw new Error(`${what}: ${answer}`);
      rows.push(rowOf(what, alone, crowd));
    };

    say('requests and tokens are made');
    const proofs = await inTurns(MOST, async (at) => {
      const [{ token }, { csr }] = await Promise.all([
        issuing.enroll({ tenant: TENANT, agent: `bot-${at}`, by: 'bench', ttlSeconds: 3_600 }),
        newCertificateRequest(),
      ]);
      return { token, csr };
    });
    await measured('a first certificate', async () => {
      const { token, csr } = taken(proofs);
      const request = await readCertificateRequest(csr);
      return issuing.issue(request, { kind: 'token', token }, 3_600);
    });

    const person = generateKeyPairSync('rsa', { modulusLength: 2_048 });
    const jwksFile = join(folder, 'jwks.json');
    const jwk = { ...person.publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256', use: 'sig' };
    await writeFile(jwksFile, JSON.stringify({ keys: [jwk] }));
    const idTokens = await openIdTokens([
      { tenant: TENANT, name: 'corp', issuer: ISSUER, audience: AUDIENCE, keys: { file: jwksFile } },
    ]);
    closing.unshift(() => idTokens.close());
    const signer = createSigner(generateKeyPairSync('ed25519').privateKey);
    const granting = createGranting({ store, verify: idTokens.verify, signer, trustDomain: TRUST_DOMAIN, clock });
    const scopes = { scope: ['tool:read'], yellow: [] };
    const by = { by: 'bench', reason: null, nowMs: clock() };
    // Who asks for a grant shows the certificate that it has.
    const delegates = await inTurns(MOST / GRANTS_OF_ONE, async (at) => {
      const agent = `delegate-${at}`;
      await store.register({ tenant: TENANT, agent, envelope: scopes }, by);
      const { token } = await issuing.enroll({ tenant: TENANT, agent, by: 'bench', ttlSeconds: 3_600 });
      const request = await readCertificateRequest((await newCertificateRequest()).csr);
      const { certPem } = await issuing.issue(request, { kind: 'token', token }, 3_600);
      return { agent, fingerprint: fingerprintOf(certificatesOf(certPem)[0] as X509Certificate) };
    });
    const delegations = await inTurns(MOST, async (at) => ({
      ...(delegates[at % delegates.length] as (typeof delegates)[number]),
      token: await new SignJWT({ nonce: randomUUID() })
        .setProtectedHeader({ alg: 'RS256', kid: 'one' })
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setSubject('ada')
        .setIssuedAt()
        .setExpirationTime('1h')
        .sign(person.privateKey),
    }));
    let grant = { token: '', agent: '', fingerprint: '' };
    await measured('an ID token exchanged for a grant', async () => {
      const { agent, fingerprint, token } = taken(delegations);
      const issued = await granting.issue(
        {
          tenant: TENANT,
          agent_spiffe: agentName(TRUST_DOMAIN, TENANT, agent),
          id_token: token,
          scope: ['tool:read'],
          yellow_scope: [],
        },
        { fingerprint, untilMs: clock() + 3_600_000 },
      );
      grant = { token: issued.grant, agent, fingerprint };
    });

    const ask = () => Promise.resolve({ keys: [signer.publicJwk] });
    const judging = {
      tokens: createGrantTokens({ ask }),
      standing: { grantFault: () => null },
      trustDomain: TRUST_DOMAIN,
      now: clock,
    };
    const caller = { ...grant, tenant: TENANT };
    const unbounded = Number.POSITIVE_INFINITY;
    await measured(
      'the check of a grant that an agent shows again',
      () => judgeGrant(judging, grant.token, caller),
      unbounded,
    );
    await measured(
      'the check of a grant that nobody showed before',
      () => judgeGrant({ ...judging, tokens: createGrantTokens({ ask }) }, grant.token, caller),
      unbounded,
    );
    return rows;
  } finally {
    for (const close of closing) await close();
  }
}

/** Each is used once. */
function taken<Value>(all: Value[]): Value {
  const one = all.pop();
  if (one === undefined) throw new Error('all that was made is used up');
  return one;
}

async function inTurns<Value>(many: number, make: (at: number) => Promise<Value>): Promise<Value[]> {
  const made: Value[] = [];
  for (let at = 0; at < many; at += 1) made.push(await make(at));
  return made;
}

function rowOf(what: string, alone: Pressed, crowd: Pressed): IdentityRow {
  const rate = ({ latencies, tookMs }: Pressed): number => rounded((latencies.length * 1_000) / tookMs);
  const us = (q: number): number => rounded(quantile(alone.latencies, q) * 1_000);
  return {
    what,
    done: alone.latencies.length + crowd.latencies.length,
    per_second: rate(alone),
    per_second_at_16: rate(crowd),
    p50_us: us(0.5),
    p99_us: us(0.99),
  };
}
