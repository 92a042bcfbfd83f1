import { generateKeyPairSync } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../contracts/json.js';
import { openLedger } from '../test/support/whole-ledger.js';
import { testKeys, testRow } from '../test/support/ledger.js';
import { editFile, liteFolder } from '../test/support/lite.js';
import {
  graduationOf,
  type GraduationReport,
  publicKeyOf,
  signingKeyOf,
  signReport,
  sinceOf,
  verifyReport,
} from './graduation.js';

const pemOf = () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return {
    key: privateKey,
    pem: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    publicPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
  };
};

describe('what enforce would have done', () => {
  let folder: string;
  let file: string;
  beforeEach(async () => {
    folder = await liteFolder();
    file = join(folder, 'ledger.db');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  async function written(
    ...calls: readonly { id: string; decision: JsonObject; agent?: string; tool?: string; more?: number; at?: number }[]
  ): Promise<void> {
    let now = Date.parse('2026-01-01T00:00:00Z');
    const ledger = await openLedger({ target: { file }, sidecarKeys: testKeys(), clock: () => now });
    for (const { id, decision, agent = 'bot', tool = 'read_file', more = 0, at } of calls) {
      now = at ?? now + 1_000;
      const row = {
        agent_id: agent,
        correlation_id: id,
        tool_name: tool,
        policy_decision: decision,
        reasoning: `why ${id}`,
      };
      await ledger.append([testRow(row)]);
      for (let index = 0; index < more; index += 1)
        await ledger.append([testRow({ ...row, method: 'upstream.outcome', event_kind: 'upstream.outcome' })]);
    }
    await ledger.close();
  }

  it('counts calls: the rows of an execution are no calls of their own', async () => {
    await written(
      { id: 'a', decision: { outcome: 'allow' }, more: 3 },
      { id: 'b', decision: { outcome: 'allow', would: 'deny' }, tool: 'delete_file', more: 1 },
      { id: 'c', decision: { outcome: 'allow', would: 'pend' }, tool: 'wire_transfer', agent: 'other' },
      { id: 'd', decision: { outcome: 'deny' }, tool: 'delete_file' },
      { id: 'e', decision: { outcome: 'park' } },
    );
    expect(await graduationOf(file, null)).toMatchObject({
      total_requests: 5,
      would_deny: 2,
      would_pend: 2,
      allowed: 1,
      ledger_entries_checked: 9,
      ledger_chain_valid: true,
      window_start: '2026-01-01T00:00:01.000Z',
      top_agents: [
        { agent_id: 'bot', count: 4 },
        { agent_id: 'other', count: 1 },
      ],
      by_tool: [
        { tool: 'delete_file', would_deny: 2, would_pend: 0, reasons: ['why b', 'why d'] },
        { tool: 'read_file', would_deny: 0, would_pend: 1 },
        { tool: 'wire_transfer', would_deny: 0, would_pend: 1 },
      ],
      recommend_enforce: false,
      recommendation: expect.stringMatching(/^REVIEW FIRST/),
    });
  });

  it('counts a call that was too fast, and was judged when it came again, once and by its verdict', async () => {
    await written(
      { id: 'a', decision: { outcome: 'rate_limited' } },
      { id: 'b', decision: { outcome: 'rate_limited' } },
      { id: 'a', decision: { outcome: 'allow' } },
    );
    expect(await graduationOf(file, null)).toMatchObject({ total_requests: 2, would_deny: 1, allowed: 1 });
  });

  it('looks at the window it is asked for', async () => {
    await written(
      { id: 'old', decision: { outcome: 'deny' }, at: Date.parse('2026-01-01T00:00:00Z') },
      { id: 'new', decision: { outcome: 'allow' }, at: Date.parse('2026-02-01T00:00:00Z') },
    );
    expect(await graduationOf(file, '2026-01-15T00:00:00.000Z')).toMatchObject({
      total_requests: 1,
      would_deny: 0,
      window_start: '2026-01-15T00:00:00.000Z',
      window_end: '2026-02-01T00:00:00.000Z',
      recommend_enforce: true,
      recommendation: expect.stringMatching(/^SAFE TO ENFORCE/),
    });
  });

  it('recommends nothing without a call, and nothing over a chain that does not hold', async () => {
    await written();
    expect(await graduationOf(file, null)).toMatchObject({
      recommend_enforce: false,
      recommendation: expect.stringMatching(/^NO DATA/),
    });
    await rm(file);
    await written({ id: 'a', decision: { outcome: 'allow' } });
    editFile(file, "update ledger_entries set reasoning = 'other'");
    expect(await graduationOf(file, null)).toMatchObject({
      ledger_chain_valid: false,
      recommend_enforce: false,
      recommendation: expect.stringMatching(/^DO NOT ENFORCE/),
    });
  });
});

describe('a signed report', () => {
  const report: GraduationReport = {
    schema_version: '1',
    generated_at: '2026-01-01T00:00:00.000Z',
    window_start: null,
    window_end: null,
    ledger_entries_checked: 4,
    ledger_chain_valid: true,
    total_requests: 1,
    would_deny: 0,
    would_pend: 0,
    allowed: 1,
    by_intent_category: [{ intent_category: 'Direct Execution', count: 1 }],
    top_agents: [{ agent_id: 'bot', count: 1 }],
    by_tool: [],
    recommend_enforce: true,
    recommendation: 'SAFE TO ENFORCE: …',
  };
  const textOf = (change: (signed: ReturnType<typeof signReport>) => object, key = pemOf().key) =>
    JSON.stringify(change(signReport(report, key)));

  it('holds by the trusted key, and by its own', () => {
    const { key, publicPem } = pemOf();
    const text = textOf((signed) => signed, key);
    expect(verifyReport(text, publicKeyOf(publicPem)).report).toEqual(report);
    expect(verifyReport(text, null)).toMatchObject({ key_id: 'gate-lite-file:v1', algorithm: 'ed25519' });
    expect(Buffer.from(verifyReport(text, null).signature ?? '', 'base64')).toHaveLength(64);
  });

  it.each([
    [
      'a changed report',
      (signed: ReturnType<typeof signReport>) => ({ ...signed, report: { ...report, would_deny: 9 } }),
      'not the text that was signed',
    ],
    [
      'a report changed together with its text',
      (signed: ReturnType<typeof signReport>) => ({
        ...signed,
        report: { ...report, would_deny: 9 },
        report_canonical_json: JSON.stringify({ ...report, would_deny: 9 }),
      }),
      'the signature does not hold',
    ],
    [
      'another signature',
      (signed: ReturnType<typeof signReport>) => ({ ...signed, signature: Buffer.alloc(64).toString('base64') }),
      'the signature does not hold',
    ],
    [
      'a short signature',
      (signed: ReturnType<typeof signReport>) => ({ ...signed, signature: 'AAAA' }),
      'the signature does not hold',
    ],
    ['no signature', () => signReport(report, null), 'not signed'],
    ['no key', (signed: ReturnType<typeof signReport>) => ({ ...signed, pubkey_pem: null }), 'names no key'],
    [
      'a field more',
      (signed: ReturnType<typeof signReport>) => ({ ...signed, report: { ...report, note: 'x' } }),
      'no signed report',
    ],
    ['something else', () => ({ hello: 1 }), 'no signed report'],
  ])('is refused with %s', (_name, change, words) => {
    expect(() => verifyReport(textOf(change), null)).toThrow(words);
  });

  it('of somebody else is refused by the trusted key, and text that is no JSON by any', () => {
    expect(() =>
      verifyReport(
        textOf((signed) => signed),
        publicKeyOf(pemOf().publicPem),
      ),
    ).toThrow('does not hold');
    expect(() => verifyReport('{', null)).toThrow('not JSON');
  });

  it('takes Ed25519 keys only, and repeats nothing of one it refuses', () => {
    expect(signingKeyOf(pemOf().pem).asymmetricKeyType).toBe('ed25519');
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type: 'pkcs8', format: 'pem' });
    expect(() => signingKeyOf(rsa.toString())).toThrow('not a private key of Ed25519');
    expect(() => signingKeyOf('secret text')).toThrow(/^this is not a private key in PEM$/);
  });
});

describe('--since', () => {
  const NOW = Date.parse('2026-01-02T00:00:00Z');
  it.each([
    ['30m', '2026-01-01T23:30:00.000Z'],
    ['24h', '2026-01-01T00:00:00.000Z'],
    ['1d', '2026-01-01T00:00:00.000Z'],
    ['2026-01-01T02:00:00+02:00', '2026-01-01T00:00:00.000Z'],
    ['yesterday', null],
    ['1w', null],
    ['2026-13-01T00:00:00Z', null],
  ])('%s is %s', (text, time) => expect(sinceOf(text, NOW)).toBe(time));
});
