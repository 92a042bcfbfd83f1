import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { openKey } from '../../adapters/identity/sealed-key.js';
import { parseKeyRing } from '../../domain/crypto/key-ring.js';
import { spiffeOfCertificate } from '../../domain/identity/spiffe.js';
import { ensureDevelopmentPki, ensureDevelopmentSecrets, issueAgent } from './dev-pki.js';

const trustDomain = 'gate.local';
let stateDir: string;
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'gate-pki-'));
});
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

const filesUnder = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(stateDir.length + 1))
    .sort();
const modeOf = (file: string): number => statSync(file).mode & 0o777;
const DAY_MS = 86_400_000;

describe('the development certificates', () => {
  it.each([-1, 1])(
    'a clock that jumps by %i h after they were made: each is valid by it, and a start makes none anew',
    async (hours) => {
      asMade();
      const before = new Map(filesUnder(stateDir).map((file) => [file, readFileSync(join(stateDir, file), 'utf8')]));
      const now = Date.now() + hours * 3_600_000;
      for (const [file, text] of before) {
        if (!file.endsWith('.crt')) continue;
        const { validFrom, validTo } = new X509Certificate(text);
        expect([file, Date.parse(validFrom) < now, now < Date.parse(validTo)]).toEqual([file, true, true]);
      }
      jest.useFakeTimers({ now, doNotFake: ['setTimeout', 'setImmediate', 'setInterval', 'nextTick', 'performance'] });
      try {
        await ensureDevelopmentPki({ stateDir, trustDomain });
      } finally {
        jest.useRealTimers();
      }
      for (const [file, text] of before)
        expect([file, readFileSync(join(stateDir, file), 'utf8')]).toEqual([file, text]);
    },
  );

  it('are laid out as a CA, a leaf for the operator and a leaf per agent; keys are for the owner only', async () => {
    await ensureDevelopmentPki({ stateDir, trustDomain });
    const files = filesUnder(stateDir);
    expect(files).toEqual(
      [
        ...[
          'agents/acme/support-bot',
          'agents/acme/build-bot',
          'agents/acme/dev-agent',
          'services/console',
          'services/simulator',
        ].flatMap((path) => [`pki/${path}.crt`, `pki/${path}.key`]),
        'pki/ca/ca.crt',
        'pki/ca/ca.key.sealed',
        'pki/workloads.json',
        'secrets/identity-keys',
      ].sort(),
    );
    for (const file of files)
      expect([file, modeOf(join(stateDir, file))]).toEqual([file, file.endsWith('.crt') ? 0o644 : 0o600]);
  });

  it('of services that an earlier Gate left are removed, with their keys', async () => {
    asMade();
    for (const file of ['ledger.crt', 'ledger.key']) writeFileSync(join(stateDir, 'pki/services', file), 'x');
    await ensureDevelopmentPki({ stateDir, trustDomain });
    expect(readdirSync(join(stateDir, 'pki/services')).sort()).toEqual([
      'console.crt',
      'console.key',
      'simulator.crt',
      'simulator.key',
    ]);
  });

  it('give the operator’s commands the SPIFFE id of the console, the local names and both usages', async () => {
    const pki = await ensureDevelopmentPki({ stateDir, trustDomain, hosts: ['ledger'] });
    const leaf = new X509Certificate(pki.console.cert);
    expect(leaf.subjectAltName).toBe(
      'URI:spiffe://gate.local/service/console, DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, DNS:ledger',
    );
    expect(leaf.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
    expect(leaf.verify(new X509Certificate(pki.ca).publicKey)).toBe(true);
    expect(leaf.ca).toBe(false);
    const days = (Date.parse(leaf.validTo) - Date.now()) / DAY_MS;
    expect(Math.round(days)).toBe(365);
  });

  it('give an agent the full SPIFFE id with a version 7 instance, client usage only and no host', async () => {
    const { agents } = await ensureDevelopmentPki({ stateDir, trustDomain });
    const leaf = new X509Certificate(agents['support-bot'].cert);
    expect(spiffeOfCertificate(leaf)).toBe(agents['support-bot'].spiffe);
    expect(agents['support-bot'].spiffe).toMatch(
      /^spiffe:\/\/gate\.local\/tenant\/acme\/agent\/support-bot\/instance\/[0-9a-f]{8}-[0-9a-f]{4}-7/,
    );
    expect(leaf.keyUsage).toEqual(['1.3.6.1.5.5.7.3.2']);
    expect(leaf.subjectAltName).toBe(`URI:${agents['support-bot'].spiffe}`);
  });

  it('are the same after another start, and when two processes start at once', async () => {
    const [first, second] = await Promise.all([
      ensureDevelopmentPki({ stateDir, trustDomain }),
      ensureDevelopmentPki({ stateDir, trustDomain }),
    ]);
    expect(second).toEqual(first);
    expect(await ensureDevelopmentPki({ stateDir, trustDomain })).toEqual(first);
  });
});

/** Certificates as a start made them, put into the folder of each test that goes on from there: making them takes longest. */
let made: string;
beforeAll(async () => {
  made = mkdtempSync(join(tmpdir(), 'gate-pki-made-'));
  await ensureDevelopmentPki({ stateDir: made, trustDomain });
});
afterAll(() => rmSync(made, { recursive: true, force: true }));
const asMade = () => cpSync(made, stateDir, { recursive: true });

describe('a leaf is renewed, alone', () => {
  beforeEach(asMade);
  const renewed = async (damage: (keyFile: string, certFile: string) => void | Promise<void>): Promise<void> => {
    const before = await ensureDevelopmentPki({ stateDir, trustDomain });
    const { keyFile, certFile } = before.agents['build-bot'];
    await damage(keyFile, certFile);
    const after = await ensureDevelopmentPki({ stateDir, trustDomain });
    expect(after.ca).toBe(before.ca);
    expect(after.console).toEqual(before.console);
    expect(after.agents['support-bot']).toEqual(before.agents['support-bot']);
    const { cert, key, spiffe } = after.agents['build-bot'];
    expect(spiffe).not.toBe(before.agents['build-bot'].spiffe);
    expect(new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect(readFileSync(certFile, 'utf8')).toBe(cert);
  };

  it('when less than 30 days remain', () =>
    renewed(async () => {
      await issueAgent({ stateDir, trustDomain }, 'acme', 'build-bot', {
        notAfter: new Date(Date.now() + 29 * DAY_MS),
      });
    }));
  it('when its key is gone', () => renewed((keyFile) => unlinkSync(keyFile)));
  it('when a crash left a new key beside the old certificate', () =>
    renewed((keyFile) => writeFileSync(keyFile, readFileSync(join(stateDir, 'pki/services/console.key')))));
  it('when it is not a certificate', () => renewed((_key, certFile) => writeFileSync(certFile, '')));
  it('when it names somebody else', () =>
    renewed(async () => {
      await issueAgent({ stateDir, trustDomain }, 'acme', 'build-bot', {
        spiffe: 'spiffe://gate.local/service/console',
      });
    }));

  it('and one with more than 30 days is kept', async () => {
    await ensureDevelopmentPki({ stateDir, trustDomain });
    const notAfter = new Date(Date.now() + 31 * DAY_MS);
    const short = await issueAgent({ stateDir, trustDomain }, 'acme', 'build-bot', { notAfter });
    expect((await ensureDevelopmentPki({ stateDir, trustDomain })).agents['build-bot'].cert).toBe(short.cert);
  });

  it('the operator’s when it must answer to one more host', async () => {
    const before = await ensureDevelopmentPki({ stateDir, trustDomain });
    const after = await ensureDevelopmentPki({ stateDir, trustDomain, hosts: ['proxy', '10.1.2.3'] });
    expect(after.ca).toBe(before.ca);
    expect(after.console.spiffe).toBe(before.console.spiffe);
    expect(new X509Certificate(after.console.cert).checkIP('10.1.2.3')).toBe('10.1.2.3');
    expect(after.agents).toEqual(before.agents);
  });
});

describe('the key of the CA', () => {
  beforeEach(asMade);

  it('that an earlier Gate left in clear text is sealed, and signs on', async () => {
    const before = await ensureDevelopmentPki({ stateDir, trustDomain });
    const [sealed, clear] = ['pki/ca/ca.key.sealed', 'pki/ca/ca.key'].map((file) => join(stateDir, file)) as [
      string,
      string,
    ];
    const keys = parseKeyRing(readFileSync(join(stateDir, 'secrets/identity-keys'), 'utf8').trim());
    const key = openKey(keys, 'certificates', readFileSync(sealed, 'utf8'));
    writeFileSync(clear, key);
    unlinkSync(sealed);
    const after = await ensureDevelopmentPki({ stateDir, trustDomain });
    expect([after.ca, after.console, after.agents]).toEqual([before.ca, before.console, before.agents]);
    expect(openKey(keys, 'certificates', after.sealedCaKey.text)).toBe(key);
    expect(readFileSync(sealed, 'utf8')).toBe(after.sealedCaKey.text);
    expect(existsSync(clear)).toBe(false);
    // A start that ended in the middle left both.
    writeFileSync(clear, key);
    await ensureDevelopmentPki({ stateDir, trustDomain });
    expect(existsSync(clear)).toBe(false);
  });

  it.each([
    [
      'it is damaged',
      'pki/ca/ca.key.sealed',
      (file: string) => writeFileSync(file, 'x'),
      /ca\.key\.sealed does not open/,
    ],
    ['what seals it is lost', 'secrets/identity-keys', unlinkSync, /identity-keys is gone/],
  ] as const)('is never replaced, and the start says what to restore, where %s', async (_what, path, damage, says) => {
    const { ca } = await ensureDevelopmentPki({ stateDir, trustDomain });
    const file = join(stateDir, path);
    const before = readFileSync(file);
    damage(file);
    for (let start = 0; start < 2; start += 1)
      await expect(ensureDevelopmentPki({ stateDir, trustDomain })).rejects.toThrow(says);
    writeFileSync(file, before);
    expect((await ensureDevelopmentPki({ stateDir, trustDomain })).ca).toBe(ca);
  });
});

describe('the CA is made anew, and every leaf with it', () => {
  beforeEach(asMade);

  it.each<[string, string, () => void]>([
    ['for another trust domain', 'other.local', () => {}],
    ['when its certificate is lost', trustDomain, () => unlinkSync(join(stateDir, 'pki/ca/ca.crt'))],
  ])('%s', async (_why, domain, damage) => {
    const before = await ensureDevelopmentPki({ stateDir, trustDomain });
    damage();
    const after = await ensureDevelopmentPki({ stateDir, trustDomain: domain });
    expect(after.ca).not.toBe(before.ca);
    const ca = new X509Certificate(after.ca);
    for (const leaf of [after.console, ...Object.values(after.agents)]) {
      expect(leaf.ca).toBe(after.ca);
      expect(new X509Certificate(leaf.cert).verify(ca.publicKey)).toBe(true);
    }
  });
});

describe('one more agent', () => {
  beforeEach(asMade);

  it('is issued once and kept', async () => {
    const pki = await ensureDevelopmentPki({ stateDir, trustDomain });
    const first = await issueAgent(pki, 'globex', 'night-bot');
    expect(first.spiffe).toMatch(/^spiffe:\/\/gate\.local\/tenant\/globex\/agent\/night-bot\/instance\//);
    expect(first.keyFile).toBe(join(stateDir, 'pki/agents/globex/night-bot.key'));
    expect(await issueAgent(pki, 'globex', 'night-bot')).toEqual(first);
  });

  it.each([
    ['..', 'bot'],
    ['acme', '..'],
    ['a/b', 'bot'],
    ['acme', ''],
    ['acme', 'x'.repeat(64)],
  ])('is refused under the name %p/%p', async (tenant, agent) => {
    const before = filesUnder(stateDir);
    await expect(issueAgent({ stateDir, trustDomain }, tenant, agent)).rejects.toThrow('is not an agent name');
    expect(filesUnder(stateDir)).toEqual(before);
  });
});

describe('the development secrets', () => {
  it('are made once, all different, for the owner only', async () => {
    const first = await ensureDevelopmentSecrets({ stateDir });
    expect(await ensureDevelopmentSecrets({ stateDir })).toEqual(first);
    for (const ring of [
      first.payloadKeys,
      first.recordKeys,
      first.hilPayloadKeys,
      first.ledgerSidecarKeys,
      first.policyStoreKeys,
      first.identityKeys,
    ])
      expect(ring).toMatch(/^dev1:[0-9a-f]{64}$/);
    const texts = Object.values(first).map((value) =>
      typeof value === 'string' ? value : 'key' in value ? value.key : value.text,
    );
    expect(new Set(texts).size).toBe(18);
    for (const file of filesUnder(stateDir))
      expect([file, modeOf(join(stateDir, file))]).toEqual([file, file.endsWith('.pub') ? 0o644 : 0o600]);
  });

  it('come with two Ed25519 key pairs whose halves fit; a lost public half is written again', async () => {
    const { ledgerKey, hilDecisionKey } = await ensureDevelopmentSecrets({ stateDir });
    expect(createPublicKey(createPrivateKey(ledgerKey.key)).export({ type: 'spki', format: 'pem' })).toBe(
      ledgerKey.pub,
    );
    expect(hilDecisionKey.pubFile).toBe(join(stateDir, 'keys/hil-decision.pub'));
    unlinkSync(ledgerKey.pubFile);
    expect((await ensureDevelopmentSecrets({ stateDir })).ledgerKey).toEqual(ledgerKey);
    expect(readFileSync(ledgerKey.pubFile, 'utf8')).toBe(ledgerKey.pub);
  });

  it('are closed to others when somebody opened them', async () => {
    await ensureDevelopmentSecrets({ stateDir });
    chmodSync(join(stateDir, 'secrets/record-keys'), 0o644);
    await ensureDevelopmentSecrets({ stateDir });
    expect(modeOf(join(stateDir, 'secrets/record-keys'))).toBe(0o600);
  });

  it.each(['secrets/record-keys', 'secrets/operator-token', 'keys/ledger.key', 'keys/identity-tokens.key.sealed'])(
    'are never replaced: a damaged %s stops the start, naming the file and not its content',
    async (file) => {
      await ensureDevelopmentSecrets({ stateDir });
      writeFileSync(join(stateDir, file), 'half');
      await expect(ensureDevelopmentSecrets({ stateDir })).rejects.toThrow(`${join(stateDir, file)} is damaged`);
      expect(readFileSync(join(stateDir, file), 'utf8')).toBe('half');
    },
  );

  it('are never replaced: a lost signing key stops the start', async () => {
    await ensureDevelopmentSecrets({ stateDir });
    unlinkSync(join(stateDir, 'keys/ledger.key'));
    await expect(ensureDevelopmentSecrets({ stateDir })).rejects.toThrow('ledger.key is missing');
  });
});
