import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readK8sClusters } from './k8s-tokens.js';

let folder: string;
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), 'gate-clusters-'))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'one' };
const cluster = { ak_key_id: 'prod', issuer: 'https://k8s.example', jwks: { keys: [jwk] } };
const read = (text: string, tpms: readonly string[] = []) => {
  const file = join(folder, 'clusters.json');
  writeFileSync(file, text);
  return readK8sClusters(file, new Map(tpms.map((name) => [name, true])));
};

describe('the file of clusters', () => {
  it('is read by names, with an anchor for each set of keys', async () => {
    const other = { ...cluster, ak_key_id: 'test', jwks: { keys: [{ ...jwk, kid: 'two' }] } };
    const all = await read(JSON.stringify({ clusters: [cluster, other] }), ['rack-7']);
    expect([...all.keys()]).toEqual(['prod', 'test']);
    expect(all.get('prod')).toMatchObject({
      platformIssuer: 'https://k8s.example',
      trustAnchorId: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    });
    expect(all.get('prod')?.trustAnchorId).not.toBe(all.get('test')?.trustAnchorId);
  });

  it.each<[string, string, string]>([
    ['no JSON', '{', 'JSON'],
    ['no cluster', '{"clusters": []}', 'clusters'],
    ['another member', JSON.stringify({ clusters: [{ ...cluster, url: 'https://k8s.example' }] }), 'url'],
    ['a name twice', JSON.stringify({ clusters: [cluster, cluster] }), 'twice'],
    ['no key', JSON.stringify({ clusters: [{ ...cluster, jwks: { keys: [] } }] }), 'keys'],
    [
      'a secret for a key',
      JSON.stringify({ clusters: [{ ...cluster, jwks: { keys: [{ kty: 'oct', k: 'AAAA', kid: 'one' }] } }] }),
      'kty',
    ],
    [
      'a private key',
      JSON.stringify({
        clusters: [{ ...cluster, jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'one' }] } }],
      }),
      'private',
    ],
  ])('is refused with %s', async (_what, text, why) => {
    await expect(read(text)).rejects.toThrow(why);
  });

  it('is refused where a name is that of a key of a TPM too', async () => {
    await expect(read(JSON.stringify({ clusters: [cluster] }), ['prod'])).rejects.toThrow('prod');
  });
});
