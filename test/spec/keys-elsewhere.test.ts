import { createPublicKey, type X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createMtlsFetch } from '../../activities/clients/mtls-fetch.js';
import { authorityBy } from '../../adapters/identity/certificate-authority.js';
import { revocationVerifier } from '../../adapters/identity/revocation-signature.js';
import { certificatesOf, isSignedBy } from '../../adapters/identity/svid-signer.js';
import { createKeyStores } from '../../adapters/signing/key-stores.js';
import { issuedSvid, revocationList } from '../../contracts/identity.js';
import type { KeyAlgorithm } from '../../domain/identity/held-key.js';
import { formatVkey, noteKey, parseNote, parseVkey, verifiedSignatures } from '../../domain/ledger/tlog/note.js';
import {
  DEVELOPMENT_TENANT,
  type DevelopmentSecrets,
  ensureDevelopmentSecrets,
} from '../../stack/certificates/dev-pki.js';
import { madeEnvironment } from '../../stack/certificates/made-secrets.js';
import { type ApartProcess, startApart } from '../../stack/separate.js';
import { certificateRequest } from '../support/certificate-request.js';
import { needs } from '../support/needs.js';
import { ensureTestPki, type TestPki } from '../support/service-certificates.js';
import { eventually } from '../support/waiting.js';
import { SOFTHSM_PRESENT, type SoftToken, softToken } from '../support/soft-token.js';

const TRUST_DOMAIN = 'gate.local';

(SOFTHSM_PRESENT ? describe : describe.skip)(
  `services whose keys lie in a token${needs('softhsm2', SOFTHSM_PRESENT)}`,
  () => {
    let folder: string;
    let token: SoftToken;
    let pki: TestPki;
    let secrets: DevelopmentSecrets;
    let ca: string;
    const closing: (() => Promise<unknown>)[] = [];

    const started = async (name: 'identity' | 'ledger', settings: Record<string, string>): Promise<ApartProcess> => {
      const upper = name.toUpperCase();
      const running = await startApart(name, {
        ...madeEnvironment({ ...secrets, ...pki }),
        GATE_STATE_DIR: folder,
        GATE_DEPLOYMENT_TENANT: DEVELOPMENT_TENANT,
        GATE_LOG_LEVEL: 'silent',
        [`GATE_${upper}_PORT`]: '0',
        [`GATE_${upper}_HEALTH_PORT`]: '0',
        GATE_TLS_CA_FILE: join(folder, 'ca.crt'),
        GATE_TLS_CERT_FILE: pki.services[name].certFile,
        GATE_TLS_KEY_FILE: pki.services[name].keyFile,
        ...settings,
      });
      closing.unshift(() => running.stop());
      return running;
    };
    async function ask(
      { ports }: ApartProcess,
      name: 'identity' | 'ledger',
      who: { readonly cert: string; readonly key: string } | null,
      path: string,
      body?: object,
      bearer?: string,
    ) {
      const { cert = '', key = '' } = who ?? {};
      const fetch = createMtlsFetch({
        ca: pki.ca,
        cert,
        key,
        expectedServerSpiffe: `spiffe://${TRUST_DOMAIN}/service/${name}`,
        timeoutMs: 60_000,
        connectTimeoutMs: 30_000,
      });
      closing.unshift(() => fetch.close());
      const reply = await fetch(`https://localhost:${ports.port}${path}`, {
        method: body ? 'POST' : 'GET',
        headers: {
          ...(body && { 'content-type': 'application/json' }),
          ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        },
        ...(body && { body: JSON.stringify(body) }),
      });
      return { status: reply.status, text: await reply.text() };
    }
    const made: Record<string, string> = {};
    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'gate-elsewhere-'));
      token = softToken();
      pki = await ensureTestPki({ stateDir: folder, trustDomain: TRUST_DOMAIN });
      secrets = await ensureDevelopmentSecrets({ stateDir: folder });
      const stores = createKeyStores({ limitMs: 30_000 });
      const kinds: Record<string, KeyAlgorithm> = { ca: 'ES256', tokens: 'Ed25519', checkpoints: 'Ed25519' };
      for (const [name, algorithm] of Object.entries(kinds)) {
        const key = await stores.open(await stores.make(token.reference('{key}'), name, algorithm));
        made[name] = key.publicKey.export({ type: 'spki', format: 'pem' }).toString();
        const life = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 86_400_000) };
        if (name === 'ca') ca = await authorityBy(key, TRUST_DOMAIN, life);
      }
      stores.close();
      writeFileSync(join(folder, 'ca.crt'), `${pki.ca}${ca}`);
    }, 120_000);
    afterAll(async () => {
      for (const close of closing) await close();
      token.remove();
      rmSync(folder, { recursive: true, force: true });
    });

    it('identity issues certificates and signs lists by them, and says that it cannot where the token is away', async () => {
      const identity = await started('identity', {
        GATE_IDENTITY_CA_KEY_FILE: token.reference('ca'),
        GATE_IDENTITY_SIGNING_KEY_PATH: token.reference('tokens'),
      });
      const enrol = async (agent: string) => {
        const { text } = await ask(
          identity,
          'identity',
          pki.services.console,
          '/enrollments',
          { tenant: DEVELOPMENT_TENANT, agent_name: agent },
          secrets.identityAdminToken,
        );
        const { pem } = await certificateRequest();
        const { token: bearer } = JSON.parse(text) as { token: string };
        return ask(identity, 'identity', null, '/enrollments/svid', { csr_pem: pem }, bearer);
      };
      const issued = issuedSvid.parse(JSON.parse((await enrol('bot')).text));
      const leaf = certificatesOf(issued.cert_pem)[0] as X509Certificate;
      expect([isSignedBy(leaf, ca), isSignedBy(leaf, pki.ca)]).toEqual([true, false]);
      const list = async () => ask(identity, 'identity', pki.services.proxy, '/revocation/list?after=0');
      const signed = revocationList.parse(JSON.parse((await list()).text));
      expect(revocationVerifier(() => ca)(signed)).toMatchObject({ trust_domain: TRUST_DOMAIN });
      const { keys } = JSON.parse((await ask(identity, 'identity', null, '/jwks.json')).text) as {
        keys: { x: string }[];
      };
      const jwk = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: keys[0]?.x ?? '' }, format: 'jwk' });
      expect(jwk.export({ type: 'spki', format: 'pem' })).toBe(made['tokens']);

      const ready = async () => (await fetch(`http://127.0.0.1:${identity.ports.healthPort}/readyz`)).json();
      expect(await ready()).toMatchObject({ checks: { signer: 'ok' } });
      const pin = join(token.folder, 'pin');
      rmSync(pin);
      const refused = await list();
      expect([refused.status, JSON.parse(refused.text)]).toMatchObject([503, { error: 'signing_unavailable' }]);
      expect(JSON.parse((await enrol('other')).text)).toMatchObject({ error: 'signing_unavailable' });
      expect(await ready()).toMatchObject({ status: 'not_ready', checks: { signer: 'failed' } });
      writeFileSync(pin, '98765432');
      await eventually(
        'it signs again',
        async () => ((await ready()) as { checks: { signer: string } }).checks.signer === 'ok',
      );
      expect((await list()).status).toBe(200);
    });

    it('the ledger signs checkpoints by them', async () => {
      const ledger = await started('ledger', { GATE_LEDGER_CHECKPOINT_KEY_FILE: token.reference('checkpoints') });
      const { text } = await ask(ledger, 'ledger', pki.services.console, '/checkpoint');
      const key = noteKey(`${TRUST_DOMAIN}/ledger`, createPublicKey(made['checkpoints'] ?? ''));
      expect(verifiedSignatures(parseNote(text), [parseVkey(formatVkey(key))])).toHaveLength(1);
    });

    it.each([
      ['identity', { GATE_IDENTITY_CA_KEY_FILE: 'tokens' }, 'is not an ECDSA P-256 key'],
      ['identity', { GATE_IDENTITY_SIGNING_KEY_PATH: 'none' }, 'the token has no key none'],
      ['ledger', { GATE_LEDGER_CHECKPOINT_KEY_FILE: 'ca' }, 'is not an Ed25519 key'],
    ] as const)('%s does not start with %j', async (name, settings, why) => {
      const references = Object.fromEntries(
        Object.entries(settings).map(([variable, object]) => [variable, token.reference(object)]),
      );
      await expect(started(name, references)).rejects.toThrow(why);
    });
  },
);
