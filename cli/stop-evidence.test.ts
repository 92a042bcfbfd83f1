import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createAuthority, type Credential } from '../adapters/identity/certificate-authority.js';
import { revocationSigner } from '../adapters/identity/revocation-signature.js';
import { stopReportSigner } from '../adapters/identity/stop-report-signature.js';
import type { StopReport, StopReportContent } from '../contracts/identity.js';
import { sha256Hex } from '../domain/crypto/digest.js';
import { stopReportText } from '../domain/identity/stop-reports.js';
import { verdictText, verifyEvidence } from './evidence.js';

const AT = '2026-11-02T10:00:00.000Z';
const HOUR_MS = 3_600_000;
const ID = '70000000-0000-4000-8000-000000000007';
const CONTENT: StopReportContent = {
  schema: 'gate.stop-report/1',
  id: ID,
  trust_domain: 'gate.local',
  tenant: 'acme',
  stopped: { kind: 'agent', id: ID, name: 'bot' },
  stopped_at: AT,
  stopped_by: 'operator:dev',
  reason: 'odd',
  certificates_revoked: 1,
  looked_at: AT,
  counts: { running: 1, parked: 0, judged: 0, started: 0, left_out: 0 },
  calls: [
    {
      correlation_id: ID,
      agent: 'bot',
      tool: 'pay',
      contract: 'gate.server-execution/v1',
      was: 'running',
      state: 'completed',
      received_at: AT,
      state_since: AT,
      digest: `sha256:${'a'.repeat(64)}`,
      params_sha256: 'b'.repeat(64),
      pending_id: null,
      outcome: { stage: 'completed', code: null, at: AT, result_sha256: 'c'.repeat(64) },
    },
  ],
  made_at: AT,
};

let folder: string;
let ca: Credential;
let other: Credential;
let report: StopReport;
const write = (content: string): string => {
  const file = join(folder, 'report.json');
  writeFileSync(file, content);
  return file;
};
const verified = (content: string, key: string | undefined = ca.cert) =>
  verifyEvidence(write(content), key === undefined ? {} : { key });

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gate-stop-evidence-'));
  const life = { notBefore: new Date(Date.now() - HOUR_MS), notAfter: new Date(Date.now() + HOUR_MS) };
  ca = await createAuthority('gate.local', life);
  other = await createAuthority('gate.local', life);
  report = await stopReportSigner(ca.cert, ca.key)(CONTENT);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('gate verify --bundle, of the report of a stop', () => {
  it('holds under the certificate of the CA, in its own form and in another one', async () => {
    const text = stopReportText(report);
    for (const form of [`${text}\n`, JSON.stringify(report, null, 2)]) {
      const verdict = await verified(form);
      expect(verdict).toMatchObject({ valid: true, proved: true });
      expect(verdictText(verdict)).toBe(
        `ok      signature of the CA: report ${ID}: what was running when the agent bot was stopped, at ${AT}\n` +
          `note    the row stop.reported of the ledger names its digest: ${sha256Hex(text)}\nthe bundle holds\n`,
      );
    }
  });

  it.each<[string, (of: StopReport) => object | Promise<object>]>([
    ['says that nothing ran', (of) => ({ ...of, calls: [], counts: { ...of.counts, running: 0 } })],
    ['says that somebody else did it', (of) => ({ ...of, stopped_by: 'operator:second' })],
    ['was of another stop', (of) => ({ ...of, stopped_at: '2026-11-02T10:00:00.001Z' })],
    ['has another outcome', (of) => ({ ...of, calls: of.calls.map((call) => ({ ...call, outcome: null })) })],
    ['has a field more', (of) => ({ ...of, note: 'x' })],
    ['lost its signature', (of) => Object.fromEntries(Object.entries(of).filter(([name]) => name !== 'signature'))],
    ['is signed by another CA', () => stopReportSigner(other.cert, other.key)(CONTENT)],
    [
      'has the signature of a list of revocations over the same',
      async (of) => ({ ...of, signature: (await revocationSigner(ca.cert, ca.key)(CONTENT as never)).signature }),
    ],
  ])('does not hold where it %s', async (_what, changed) => {
    const verdict = await verified(JSON.stringify(await changed(report)));
    expect(verdict).toMatchObject({ valid: false, proved: false });
    expect(verdictText(verdict)).toMatch(/^BROKEN {2}signature of the CA: .*\nINVALID: this is not what was signed\n$/);
  });

  it('does not hold where a member stands twice, and only the last is what was signed', async () => {
    const text = stopReportText(report).replace('{', '{"stopped_by":"operator:mallory","calls":[],');
    const verdict = await verified(text);
    expect(verdict).toMatchObject({ valid: false, proved: false });
    expect(verdictText(verdict)).toMatch(/^BROKEN {2}signature of the CA: duplicate key "[^"]+"\nINVALID: /);
  });

  it('needs the certificate of the CA, from elsewhere', async () => {
    await expect(verifyEvidence(write(stopReportText(report)), {})).rejects.toThrow('--key <ca.crt>');
    await expect(verified(stopReportText(report), 'x')).rejects.toThrow('--key: no certificate in PEM');
  });
});
