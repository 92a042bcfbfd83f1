import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openedChallenge } from '../../contracts/attestation.js';
import type { JsonObject } from '../../contracts/json.js';
import { enrollment, issuedSvid } from '../../contracts/identity.js';
import { TPM2_VERIFIER_POLICY } from '../../domain/identity/tpm2-quote.js';
import { createHttp, type Http } from '../support/agent.js';
import { certificateRequest } from '../support/certificate-request.js';
import { needs } from '../support/needs.js';
import { STACK_START_LIMIT_MS, startStack, type TestStack } from '../support/stack.js';
import { attestationAnswer, HAS_TPM, measuredBy, startTpm, type TestAk, type TestTpm } from '../support/tpm.js';

const NAME = 'attested-bot';
const WIRE = ['wire_transfer', { amount: 10, to: 'acct-1' }] as const;

(HAS_TPM ? describe : describe.skip)(
  `a deployment that wires money from attested platforms alone${needs('swtpm', HAS_TPM)}`,
  () => {
    let tpm: TestTpm;
    let ak: TestAk;
    let folder: string;
    let gate: TestStack;
    let console: Http;
    let token: string;
    const closing: Http[] = [];
    const read = (file: string) => readFileSync(file, 'utf8');
    const identityAs = (credential: { readonly cert: string; readonly key: string }): Http => {
      const { identity, proxy } = gate.development;
      const http = createHttp(identity.url, { ca: read(proxy.ca), ...credential });
      closing.push(http);
      return http;
    };
    beforeAll(async () => {
      tpm = await startTpm();
      ak = await tpm.ak('first');
      folder = mkdtempSync(join(tmpdir(), 'gate-attested-'));
      const anchors = join(folder, 'anchors.json');
      writeFileSync(anchors, JSON.stringify({ anchors: [ak.anchor] }));
      gate = await startStack({
        env: { GATE_PROXY_ATTESTATION: 'required', GATE_IDENTITY_TPM2_ANCHORS_FILE: anchors },
      });
      const { cert, key } = gate.development.console_workload;
      console = identityAs({ cert: read(cert), key: read(key) });
      token = read(join(gate.stateDir, 'secrets', 'identity-admin-token')).trim();
    }, STACK_START_LIMIT_MS);
    afterAll(async () => {
      for (const http of closing) await http.close();
      await gate?.stop();
      await tpm?.stop();
      rmSync(folder, { recursive: true, force: true });
    }, 150_000);

    const manage = async (path: string, body: JsonObject) => {
      const reply = await console.request('POST', path, { body, headers: { authorization: `Bearer ${token}` } });
      expect([reply.status, reply.text]).toEqual([201, reply.text]);
      return reply.body;
    };
    const enrolled = async () => {
      const { token: once } = enrollment.parse(await manage('/enrollments', { tenant: 'acme', agent_name: NAME }));
      const { pem, keyPem } = await certificateRequest();
      const headers = { authorization: `Bearer ${once}` };
      const reply = await console.request('POST', '/enrollments/svid', { headers, body: { csr_pem: pem } });
      return { cert: issuedSvid.parse(reply.body).cert_pem, key: keyPem };
    };

    it('denies a wire of an agent whose platform said nothing, lets it read, and parks the wire once it was attested', async () => {
      const credential = await enrolled();
      const agent = gate.stranger(credential);
      const denied = await agent.call(...WIRE);
      expect(denied.status).toBe(403);
      expect(JSON.stringify(denied.body)).toContain('attested');
      expect((await agent.call('list_files', {})).status).toBe(200);

      const self = identityAs(credential);
      const opened = openedChallenge.parse(
        (
          await self.request('POST', '/attestation/challenges', {
            body: { ak_key_id: ak.name, measurement_policy_version: 'v1' },
          })
        ).body,
      );
      const request = await attestationAnswer(tpm, ak, opened);
      const { expected } = opened;
      await manage('/attestation/measurements', {
        tenant: 'acme',
        workload: NAME,
        evidence_kind: 'tpm2-quote',
        measurement_sha256: measuredBy(request),
        platform_issuer: expected.platformIssuer,
        trust_anchor_id: expected.trustAnchorId,
        measurement_policy_version: 'v1',
        verifier_policy_version: TPM2_VERIFIER_POLICY,
        reason: 'the image of the test',
      });
      expect((await self.request('POST', '/attestation/verify', { body: request })).status).toBe(200);
      const parked = await agent.call(...WIRE);
      expect([parked.status, JSON.stringify(parked.body).includes('attested')]).toEqual([202, false]);
      // What the rules heard stands in the ledger.
      const rows = await gate.rows(denied.correlationId, (kinds) => kinds.includes('policy.evaluated'));
      expect(JSON.stringify(rows)).toContain('platform was attested');
    }, 120_000);
  },
);
