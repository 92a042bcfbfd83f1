import 'reflect-metadata';
import { webcrypto, X509Certificate } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509';
import { createAuthority, issueLeaf } from '../../adapters/identity/certificate-authority.js';
import { agentSpiffe, parseSpiffe, serviceSpiffe, spiffeOfCertificate } from './spiffe.js';

const instance = '01a1fe4c-b50a-76d3-8b68-02b50b6a6f7b';
const agent = `spiffe://gate.local/tenant/acme/agent/support-bot/instance/${instance}`;

describe('SPIFFE ids of this trust domain', () => {
  it('reads the full agent form', () => {
    expect(parseSpiffe(agent, 'gate.local')).toEqual({
      kind: 'agent',
      spiffe: agent,
      tenant: 'acme',
      agent: 'support-bot',
    });
    expect(agentSpiffe('gate.local', 'acme', 'support-bot', instance)).toBe(agent);
  });

  it('reads a service id', () => {
    const spiffe = 'spiffe://gate.local/service/policy-engine';
    expect(parseSpiffe(spiffe, 'gate.local')).toEqual({ kind: 'service', spiffe, service: 'policy-engine' });
    expect(serviceSpiffe('gate.local', 'policy-engine')).toBe(spiffe);
  });

  it.each([
    ['another trust domain', 'spiffe://other.local/service/proxy'],
    ['a trust domain that only starts like ours', 'spiffe://gate.local.evil/service/proxy'],
    ['another scheme', 'https://gate.local/service/proxy'],
    ['a scheme in capitals', 'SPIFFE://gate.local/service/proxy'],
    ['the short agent form', 'spiffe://gate.local/tenant/acme/agent/support-bot'],
    ['an extra segment', `${agent}/x`],
    ['a trailing slash', `${agent}/`],
    ['an empty label', `spiffe://gate.local/tenant//agent/support-bot/instance/${instance}`],
    ['a relative label', `spiffe://gate.local/tenant/../agent/support-bot/instance/${instance}`],
    ['a label of 64 characters', `spiffe://gate.local/service/${'x'.repeat(64)}`],
    ['an escaped letter', 'spiffe://gate.local/service/pro%78y'],
    ['a space', 'spiffe://gate.local/service/proxy '],
    ['a query', 'spiffe://gate.local/service/proxy?x'],
    ['an instance that is no UUID', 'spiffe://gate.local/tenant/acme/agent/support-bot/instance/1'],
    ['an instance in capitals', agent.replace(instance, instance.toUpperCase())],
    ['nothing', ''],
  ])('refuses %s', (_what, uri) => expect(parseSpiffe(uri, 'gate.local')).toBeNull());
});

describe('the SPIFFE id of a certificate', () => {
  const lifetime = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
  const certificateOf = async (spiffe: string, hosts: readonly string[]): Promise<X509Certificate> => {
    const authority = await createAuthority('gate.local', lifetime);
    const leaf = await issueLeaf(authority, { commonName: 'x', spiffe, hosts, usages: ['client'], ...lifetime });
    return new X509Certificate(leaf.cert);
  };

  it('is its one URI, beside the names it answers to', async () => {
    expect(spiffeOfCertificate(await certificateOf(agent, []))).toBe(agent);
    expect(spiffeOfCertificate(await certificateOf(agent, ['localhost', '127.0.0.1']))).toBe(agent);
  });

  it('is none where the URI is another', async () => {
    expect(spiffeOfCertificate(await certificateOf('https://gate.local/service/proxy', []))).toBeNull();
  });

  it('is none where a DNS name only reads like one in the line of names', async () => {
    const service = 'spiffe://gate.local/service/proxy';
    const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
    const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
    for (const name of [`a, URI:${service}, b`, `a, URI:${service}`, `URI:${service}`, service, 'a"b']) {
      const certificate = await X509CertificateGenerator.createSelfSigned({
        name: 'CN=x',
        keys,
        signingAlgorithm: algorithm,
        ...lifetime,
        extensions: [new SubjectAlternativeNameExtension([{ type: 'dns', value: name }])],
      });
      expect(spiffeOfCertificate(new X509Certificate(certificate.toString('pem')))).toBeNull();
    }
  });
});
