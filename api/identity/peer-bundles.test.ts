import 'reflect-metadata';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAuthority } from '../../adapters/identity/certificate-authority.js';
import { fetchBundle, readPeers } from '../../adapters/identity/peer-gates.js';
import { certificatesOf } from '../../adapters/identity/svid-signer.js';
import type { SpiffeBundle } from '../../contracts/identity.js';
import { createKnownPeers, type FetchBundle } from '../../domain/identity/peer-bundles.js';
import { bundleKeys } from '../../domain/identity/trust-bundle.js';
import { newSigner, PEER } from '../../test/support/actor-token.js';
import { identityWithPeople } from '../../test/support/identity-people.js';
import { TRUST_DOMAIN } from '../../test/support/identity-service.js';
import { STORES } from '../../test/support/ledger.js';
import { ensureTestPki, type TestPki } from '../../test/support/service-certificates.js';

const AGENTS = [{ tenant: 'acme', agent: 'partner-gate' }];
const URL = 'https://identity.partner.example/.well-known/spiffe-bundle';

let authorities: Readonly<Record<'first' | 'second', string>>;
beforeAll(async () => {
  const validity = { notBefore: new Date(Date.now() - 86_400_000), notAfter: new Date(Date.now() + 86_400_000) };
  const [first, second] = await Promise.all([createAuthority(PEER, validity), createAuthority(PEER, validity)]);
  authorities = { first: first.cert, second: second.cert };
});

describe.each(STORES)('what tokens of other Gates are verified with, on %s', (kind) => {
  const { at, store, sql, opensAgain } = identityWithPeople(kind);
  const key = newSigner().publicJwk;
  const bundleOf = (sequence: number, ca = authorities.first, keys = [key]): SpiffeBundle => ({
    keys: bundleKeys(certificatesOf(ca), keys),
    spiffe_sequence: sequence,
    spiffe_refresh_hint: 300,
  });
  let says: SpiffeBundle | Error;
  let asked: Parameters<FetchBundle>[0][];
  let steady: number;
  beforeEach(() => {
    says = bundleOf(3);
    asked = [];
    steady = 0;
  });
  const known = (pinnedSha256 = 'a'.repeat(64), over = store()) =>
    createKnownPeers({
      peers: [
        { trustDomain: PEER, agents: AGENTS, bundle: { url: URL, ca: authorities.first, pinnedSha256 } },
        { trustDomain: 'goes-there.example', agents: [], bundle: null },
      ],
      own: { trustDomain: TRUST_DOMAIN, keys: () => [] },
      store: over,
      ask: (of) => {
        asked.push(of);
        return says instanceof Error ? Promise.reject(says) : Promise.resolve(says);
      },
      clock: () => at.now,
      steadyMs: () => steady,
    });
  const passes = (seconds: number) => {
    at.now += seconds * 1_000;
    steady += seconds * 1_000;
  };
  const code = (work: () => unknown): string | null => {
    try {
      work();
      return null;
    } catch (error) {
      return (error as { code: string }).code;
    }
  };

  it('are those of Gates of the settings, once each was heard', async () => {
    const peers = known();
    expect(code(() => peers.keysOf(PEER))).toBe('peer_bundle_unknown');
    await peers.look();
    expect(peers.keysOf(PEER)).toEqual([{ kid: key.kid, x: key.x }]);
    expect(asked).toEqual([{ trustDomain: PEER, url: URL, ca: authorities.first }]);
    expect(code(() => peers.keysOf('goes-there.example'))).toBe('peer_bundle_unknown');
    expect(code(() => peers.keysOf('nobody.example'))).toBe('peer_bundle_unknown');
    expect(code(() => peers.keysOf(TRUST_DOMAIN))).toBe('peer_bundle_unknown');
    expect([PEER, 'goes-there.example', 'nobody.example'].map((domain) => peers.isPeer(domain))).toEqual([
      true,
      true,
      false,
    ]);
    expect(peers.comesAs(PEER, { tenant: 'acme', agent: 'partner-gate' })).toBe(true);
    expect(peers.comesAs(PEER, { tenant: 'other', agent: 'partner-gate' })).toBe(false);
  });

  it('are asked for each five minutes, and count for a quarter of an hour where nobody answers', async () => {
    const peers = known();
    await peers.look();
    passes(299);
    await peers.look();
    expect(asked).toHaveLength(1);
    passes(1);
    says = new Error('nobody answers');
    await expect(peers.look()).rejects.toThrow(`${PEER}: nobody answers`);
    await peers.look();
    expect(asked).toHaveLength(2);
    passes(10);
    await expect(peers.look()).rejects.toThrow('nobody answers');
    passes(590);
    expect(peers.keysOf(PEER)).toHaveLength(1);
    passes(1);
    expect(code(() => peers.keysOf(PEER))).toBe('peer_bundle_stale');
    says = bundleOf(3);
    await peers.look();
    expect(peers.keysOf(PEER)).toHaveLength(1);
    // A clock that was set back says nothing of how old it is.
    at.now -= 1_000_000;
    expect(code(() => peers.keysOf(PEER))).toBe('peer_bundle_stale');
  });

  it('are kept over a start, and heard by every process of identity', async () => {
    await known().look();
    const again = await opensAgain();
    says = new Error('nobody answers');
    const other = known(undefined, again);
    await expect(other.look()).rejects.toThrow('nobody answers');
    expect(other.keysOf(PEER)).toHaveLength(1);
    await again.close();
  });

  it('follow upon what was said before: the next CAs prove who is asked, and a lower number changes nothing', async () => {
    const peers = known();
    await peers.look();
    const next = newSigner().publicJwk;
    says = bundleOf(4, authorities.second, [key, next]);
    passes(300);
    await peers.look();
    expect(peers.keysOf(PEER).map(({ kid }) => kid)).toEqual([key.kid, next.kid]);
    passes(300);
    says = bundleOf(3);
    await expect(peers.look()).rejects.toThrow('has the number 3');
    expect(asked.at(-1)?.ca.trim()).toBe(authorities.second.trim());
    passes(10);
    says = bundleOf(4);
    await expect(peers.look()).rejects.toThrow('has the number 4');
    expect(peers.keysOf(PEER).map(({ kid }) => kid)).toEqual([key.kid, next.kid]);
    // What it does not say itself any more grows old.
    passes(600);
    expect(code(() => peers.keysOf(PEER))).toBe('peer_bundle_stale');
  });

  it('begin anew where the operator trusts other CAs', async () => {
    await known().look();
    says = bundleOf(1, authorities.second);
    const peers = known('b'.repeat(64));
    await peers.look();
    expect(asked.at(-1)?.ca).toBe(authorities.first);
    expect(peers.keysOf(PEER)).toHaveLength(1);
  });

  it('count for nothing where somebody edited them, until they are heard again', async () => {
    const peers = known();
    await peers.look();
    await sql(`update identity_peer_bundles set fetched_ms = fetched_ms + 1`);
    says = new Error('nobody answers');
    await known()
      .look()
      .catch(() => undefined);
    passes(300);
    await peers.look().catch(() => undefined);
    expect(code(() => peers.keysOf(PEER))).toBe('peer_bundle_unknown');
    says = bundleOf(1);
    passes(10);
    await peers.look();
    expect(peers.keysOf(PEER)).toHaveLength(1);
  });

  it('are of one whose bundle names CAs: without one nobody could ask it again', async () => {
    const peers = known();
    says = { ...bundleOf(3), keys: bundleKeys([], [key]) };
    await expect(peers.look()).rejects.toThrow('names no CA');
    expect(code(() => peers.keysOf(PEER))).toBe('peer_bundle_unknown');
  });
});

describe('another Gate that is asked', () => {
  let folder: string;
  let pki: TestPki;
  const servers: Server[] = [];
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gate-peer-'));
    pki = await ensureTestPki({ stateDir: folder, trustDomain: PEER });
  });
  afterAll(() => {
    for (const server of servers) server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const served = async (
    service: 'identity' | 'ledger',
    answer: { status?: number; body: string; location?: string },
  ) => {
    const { cert, key } = pki.services[service];
    const server = createServer({ cert, key }, (_request, reply) =>
      reply
        .writeHead(answer.status ?? 200, answer.location === undefined ? {} : { location: answer.location })
        .end(answer.body),
    );
    servers.push(server);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return `https://127.0.0.1:${(server.address() as AddressInfo).port}/.well-known/spiffe-bundle`;
  };
  const bundle = () => ({
    keys: bundleKeys(certificatesOf(pki.ca), [newSigner().publicJwk]),
    spiffe_sequence: 1,
    spiffe_refresh_hint: 300,
  });
  const heard = (url: string, { trustDomain = PEER, ca = pki.ca } = {}) => fetchBundle({ trustDomain, url, ca });

  it('is known by its SPIFFE id and its CA, whatever its host is called', async () => {
    const said = bundle();
    const url = await served('identity', { body: JSON.stringify(said) });
    expect(await heard(url)).toEqual(said);
    await expect(heard(url, { ca: authorities.first })).rejects.toThrow();
    await expect(heard(url, { trustDomain: 'third.example' })).rejects.toThrow('not spiffe://third.example');
    await expect(heard(await served('ledger', { body: JSON.stringify(said) }))).rejects.toThrow('service/ledger, not');
  });

  it('is not heard where it answers something else', async () => {
    const elsewhere = await served('identity', { body: JSON.stringify(bundle()) });
    for (const answer of [
      { body: 'no JSON' },
      { body: '{}' },
      { body: JSON.stringify({ ...bundle(), more: 1 }) },
      { body: JSON.stringify(bundle()), status: 404 },
      { body: '', status: 302, location: elsewhere },
      { body: ' '.repeat(300_000) + JSON.stringify(bundle()) },
    ])
      await expect(heard(await served('identity', answer))).rejects.toThrow();
  });

  describe('stands in a file', () => {
    const file = (peers: unknown): string => {
      const name = join(folder, 'peers.json');
      writeFileSync(name, JSON.stringify({ peers }));
      return name;
    };
    const url = 'https://identity.partner.example:8086/.well-known/spiffe-bundle';

    it('with its address, its CAs and as whom it calls', async () => {
      const peer = { trust_domain: PEER, bundle_url: url, ca_file: pki.caFile, agents: ['acme/partner-gate'] };
      const own = { trust_domain: TRUST_DOMAIN, agents: ['acme/self'] };
      expect(await readPeers(file([peer, own, { trust_domain: 'third.example' }]), TRUST_DOMAIN)).toEqual([
        {
          trustDomain: PEER,
          agents: AGENTS,
          bundle: { url, ca: pki.ca, pinnedSha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
        },
        { trustDomain: TRUST_DOMAIN, agents: [{ tenant: 'acme', agent: 'self' }], bundle: null },
        { trustDomain: 'third.example', agents: [], bundle: null },
      ]);
    });

    it.each<[string, unknown]>([
      ['no Gate', []],
      ['one twice', [{ trust_domain: PEER }, { trust_domain: PEER }]],
      ['an address without what proves it', [{ trust_domain: PEER, bundle_url: url }]],
      [
        'an address that nobody encrypts',
        [{ trust_domain: PEER, bundle_url: url.replace('https', 'http'), ca_file: 'x' }],
      ],
      ['agents of one that nobody can verify', [{ trust_domain: PEER, agents: ['acme/partner-gate'] }]],
      ['an agent without its tenant', [{ trust_domain: TRUST_DOMAIN, agents: ['partner-gate'] }]],
      ['itself elsewhere', [{ trust_domain: TRUST_DOMAIN, bundle_url: url, ca_file: 'x' }]],
      ['a member that nobody knows', [{ trust_domain: PEER, agent: 'x' }]],
      ['no trust domain', [{ trust_domain: 'Partner Example' }]],
    ])('which is refused where it names %s', async (_what, peers) => {
      await expect(readPeers(file(peers), TRUST_DOMAIN)).rejects.toThrow();
    });

    it('which is refused where its CAs are none', async () => {
      const empty = join(folder, 'none.pem');
      writeFileSync(empty, '');
      const peer = { trust_domain: PEER, bundle_url: url, ca_file: empty };
      await expect(readPeers(file([peer]), TRUST_DOMAIN)).rejects.toThrow('holds no certificate');
    });
  });
});
