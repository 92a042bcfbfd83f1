import { describe, expect, it } from '@jest/globals';
import type { PendingRequest } from '../contracts/review.js';
import { whatRuns } from './review-text.js';

const row = (over: Partial<PendingRequest>): PendingRequest =>
  ({
    id: 'id',
    correlation_id: 'id',
    agent_id: 'bot',
    method: 'tools/call',
    risk_summary: 'money moves; off hours',
    review_reasons: [],
    request_payload: { params: { name: 'pay', arguments: { amount: 5 } } },
    status: 'denied',
    ...over,
  }) as unknown as PendingRequest;

const linesOf = (over: Partial<PendingRequest>) => whatRuns(row(over)).split('\n');

describe('a call as an operator reads it', () => {
  it('says each reason to wait in a line, with the definition of the tool and what the tool says of itself', () => {
    const lines = linesOf({
      review_reasons: [
        'money moves',
        'definition of the tool 0123456789abcdef of bank: as pinned',
        'the tool says of itself: "pays \u202Eevil"',
      ],
    });
    const at = lines.findIndex((line) => line.startsWith('why'));
    expect(lines.slice(at, at + 4)).toEqual([
      'why            money moves',
      '               definition of the tool 0123456789abcdef of bank: as pinned',
      '               the tool says of itself: "pays \\u{202e}evil"',
      expect.stringMatching(/^sandbox /),
    ]);
  });

  it('says the summary where a review names no reasons', () => {
    expect(linesOf({})).toContain('why            money moves; off hours');
  });

  it('shows no arguments of a tool that is called without any, whatever else stands in the call', () => {
    const request_payload = { method: 'tools/call', params: { name: 'list_everything', _meta: { progressToken: 1 } } };
    expect(whatRuns(row({ request_payload }))).toMatch(/\narguments\n\{\}\n$/);
  });

  it('names the method of a prompt as its tool, and the name that an upstream chose among the arguments', () => {
    const request_payload = {
      method: 'prompts/get',
      params: { name: 'list_files', arguments: { path: 'a.txt' }, _meta: {} },
    };
    const text = whatRuns(row({ method: 'prompts/get', request_payload }));
    expect(text).toMatch(/^tool +prompts\/get$/m);
    expect(text).toContain('arguments\n{\n  "arguments": {\n    "path": "a.txt"\n  },\n  "name": "list_files"\n}\n');
  });

  it('says of a changed call what was changed, and that the sandbox saw it as it was asked', () => {
    const replacements = [{ path: ['amount'], value: 20 }];
    const changed = {
      status: 'approved' as const,
      decided_by: 'operator:ana',
      reviewed_payload_digest: 'd',
      modification_diff: { contract: 'gate.hil.modification-diff/v1' as const, replacements },
    };
    const before = '               this is of the call as its agent asked for it, before the changes';
    const lines = linesOf(changed);
    expect(lines).toContain('status         approved with changes: amount = 20; by operator:ana');
    expect(lines[lines.findIndex((line) => line.startsWith('sandbox')) + 1]).toBe(before);
    expect(linesOf({ ...changed, modification_diff: null })).toEqual(
      expect.arrayContaining(['status         approved with changes by operator:ana', before]),
    );
    expect(linesOf({ ...changed, status: 'denied' })).toContain('status         denied by operator:ana');
    expect(linesOf({ status: 'approved', decided_by: 'operator:ana' })).not.toContain(before);
  });

  it('says of a rehearsal what it is, by who asked for it and by no name', () => {
    const told = 'rehearsal      no agent asked for it, and nothing runs, whatever is decided';
    expect(linesOf({ agent_spiffe: 'spiffe://gate.local/service/simulator' })).toContain(told);
    expect(linesOf({ agent_spiffe: 'spiffe://gate.local/tenant/acme/agent/rehearsal' })).not.toContain(told);
  });

  it('names whom it is assigned to', () => {
    expect(linesOf({ assigned_to: 'operator:ana' })).toContain('assigned to    operator:ana');
    expect(linesOf({ assigned_to: null }).join()).not.toContain('assigned');
  });

  it('shows the arguments in canonical order, and shortens a long text only where it is told to', () => {
    const text = 'x'.repeat(5_000);
    const request_payload = { params: { name: 'pay', arguments: { to: 'v\u0435ndor', body: text } } };
    const whole = whatRuns(row({ request_payload }));
    expect(whole).toContain(`arguments\n{\n  "body": "${text}",\n  "to": "v\\u{435}ndor"\n}\n`);
    const shortened = whatRuns(row({ request_payload }), 4_000);
    expect(shortened).toMatch(/"body": "x{200}…" \(5,000 characters, sha256 [0-9a-f]{64}\),/);
  });

  it('marks an approval that does not count any more, and counts the others', () => {
    const given = (by: string) => ({ by, provenance: 'console-bearer', at: '2026-11-02T10:00:00.000Z' });
    const approvals = [{ ...given('operator:ada'), reason: 'fine', lapsed: true as const }, given('operator:dev')];
    expect(linesOf({ required_approvers: 3, approvals })).toContain(
      'approvals      1 of 3 operator:ada (does not count any more): fine, operator:dev',
    );
    const unchecked = { required_approvers: 3, approvals: [{ ...given('operator:ada'), unchecked: true as const }] };
    expect(linesOf(unchecked)).toContain(
      'approvals      1 of 3 operator:ada (counts as far as is known: who may approve now could not be looked up)',
    );
  });

  it('says why one person is enough for a strict call of the demonstration', () => {
    const said = "approvals      a demonstration's call: one person is enough";
    const strict = { approval_tier: 'strict', state_namespace: 'demo' as const, required_approvers: 1 };
    expect(linesOf(strict)).toContain(said);
    for (const other of [
      { approval_tier: 'standard' },
      { state_namespace: 'operator' as const },
      { required_approvers: 2 },
    ])
      expect(linesOf({ ...strict, ...other })).not.toContain(said);
  });
});
