import { describe, expect, it } from '@jest/globals';
import type { TenantOperationKind } from '../../contracts/tenant-lifecycle.js';
import { GateError } from '../errors.js';
import { seededRandom } from '../../test/support/random.js';
import {
  assertLease,
  claimed,
  completed,
  held,
  type KeptOperation,
  keptOperation,
  LEASE_MS,
  MOST_ATTEMPTS,
  newOperation,
  nextStep,
  retried,
  shownOperation,
  TENANT_STEPS,
  waitMs,
} from './tenant-operations.js';

const AT = Date.parse('2026-11-30T12:00:00.000Z');
const LEASE = 'a'.repeat(64);
const OTHER = 'b'.repeat(64);

const begun = (kind: TenantOperationKind = 'offboard'): KeptOperation =>
  newOperation({
    id: '10000000-0000-7000-8000-000000000001',
    tenant: 'acme',
    kind,
    idempotencyKey: 'once',
    reason: 'the contract ended',
    by: 'operator:dev',
    nowMs: AT,
  });
const codeOf = (work: () => unknown): string => {
  try {
    work();
    return 'none';
  } catch (error) {
    return error instanceof GateError ? error.code : String(error);
  }
};

/** An operation as somebody moves it, step after step. */
class Played {
  nowMs = AT;
  constructor(public operation: KeptOperation) {}
  get step() {
    const step = nextStep(this.operation);
    if (!step) throw new Error('it is done');
    return step;
  }
  get stands(): readonly [string, string, number] {
    return [this.operation.state, this.step.state, this.step.attempts];
  }
  claim({ stepId = this.step.id as string, owner = this.step.owner as string, leaseSha256 = LEASE } = {}): string {
    const { operation, refused } = claimed(this.operation, {
      stepId,
      owner,
      leaseSha256,
      by: 'somebody',
      nowMs: this.nowMs,
    });
    this.operation = operation;
    return refused?.code ?? 'claimed';
  }
  complete(outcome: 'succeeded' | 'retryable' | 'manual_recovery', leaseSha256 = LEASE): string {
    return codeOf(() => {
      this.operation = completed(this.operation, {
        stepId: this.step.id,
        leaseSha256,
        outcome,
        receipt: outcome === 'succeeded' ? { state: 'done' } : null,
        error: outcome === 'succeeded' ? null : 'it is away',
        by: 'another',
        nowMs: this.nowMs,
      });
    });
  }
  retry(stepId = this.step.id as string): string {
    return codeOf(() => {
      this.operation = retried(this.operation, stepId, 'a third', this.nowMs);
    });
  }
  passes(ms: number): this {
    this.nowMs += ms;
    return this;
  }
}

describe('an operation on a tenant', () => {
  it('has its steps in their order, each with its owner', () => {
    const of = (kind: TenantOperationKind) => TENANT_STEPS[kind].map(({ id, owner }) => `${id} ${owner}`);
    expect(of('provision')).toEqual([
      'tenant_record identity',
      'credential_keys identity',
      'policy_namespace policy-engine',
      'hil_namespace hil',
      'cache_generation proxy',
      'ledger_lifecycle_marker ledger',
    ]);
    expect(of('offboard')).toEqual([
      'authority_fence identity',
      'credential_keys identity',
      'cache_generation proxy',
      'policy_namespace policy-engine',
      'hil_namespace hil',
      'ledger_final_export ledger',
      'ledger_tombstone ledger',
      'retained_backup_disposition platform',
    ]);
    expect(begun()).toMatchObject({
      state: 'pending',
      steps: Array.from({ length: 8 }, (_, at) => ({ order: at + 1, state: 'pending', attempts: 0 })),
    });
  });

  it('shows nobody the digest of a lease', () => {
    const played = new Played(begun());
    played.claim();
    expect(played.step.lease_sha256).toBe(LEASE);
    expect(JSON.stringify(shownOperation(played.operation))).not.toContain(LEASE);
  });

  it.each(['provision', 'offboard'] as const)('%s: succeeds with every step, and not before', (kind) => {
    const played = new Played(begun(kind));
    for (let at = 0; at < TENANT_STEPS[kind].length; at += 1) {
      expect(played.operation.state).not.toBe('succeeded');
      expect([played.claim(), played.complete('succeeded')]).toEqual(['claimed', 'none']);
    }
    expect(played.operation.state).toBe('succeeded');
    expect(played.operation.steps.every(({ receipt_sha256: sha256 }) => /^[0-9a-f]{64}$/.test(sha256 ?? ''))).toBe(
      true,
    );
    expect(waitMs(played.operation, played.nowMs)).toBeNull();
  });

  describe('a claim', () => {
    it('has a lease of 30 s, and one attempt more', () => {
      const played = new Played(begun());
      expect(played.claim()).toBe('claimed');
      expect(played.stands).toEqual(['running', 'running', 1]);
      expect(played.step.lease_expires_at).toBe(new Date(AT + LEASE_MS).toISOString());
      expect(waitMs(played.operation, played.nowMs)).toBe(30_000);
    });
    it.each([
      ['of a step that is not the next', { stepId: 'hil_namespace', owner: 'hil' }, 'step_not_next'],
      ['by another owner', { owner: 'ledger' }, 'owner_mismatch'],
    ])('%s is refused', (_what, asked, code) => {
      const played = new Played(begun());
      expect(played.claim(asked)).toBe(code);
      expect(played.operation).toEqual(begun());
    });
    it('of a step that there is not is `not_found`', () => {
      expect(codeOf(() => new Played(begun()).claim({ stepId: 'everything' }))).toBe('not_found');
    });
    it('is refused while somebody has the lease, and repeats the step when it ended', () => {
      const played = new Played(begun());
      played.claim();
      expect(played.passes(LEASE_MS - 1).claim({ leaseSha256: OTHER })).toBe('lease_held');
      expect(played.passes(1).claim({ leaseSha256: OTHER })).toBe('claimed');
      expect(played.stands).toEqual(['running', 'running', 2]);
    });
    it('after the fifth lease that ended makes the step a person’s', () => {
      const played = new Played(begun());
      for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt += 1) {
        expect(played.claim()).toBe('claimed');
        played.passes(LEASE_MS);
      }
      expect(played.stands).toEqual(['running', 'running', 5]);
      expect(played.claim()).toBe('manual_recovery');
      expect(played.stands).toEqual(['manual_recovery', 'manual_recovery', 5]);
      expect(waitMs(played.operation, played.nowMs)).toBeNull();
    });
  });

  describe('a step that fails', () => {
    it('is due again after 1, 2, 4 and 8 s, and after the fifth time is a person’s', () => {
      const played = new Played(begun());
      for (const pauseMs of [1_000, 2_000, 4_000, 8_000]) {
        expect([played.claim(), played.complete('retryable')]).toEqual(['claimed', 'none']);
        expect([played.operation.state, played.step.state]).toEqual(['waiting_retry', 'retryable']);
        expect(waitMs(played.operation, played.nowMs)).toBe(pauseMs);
        expect(played.passes(pauseMs - 1).claim()).toBe('retry_not_due');
        played.passes(1);
      }
      expect([played.claim(), played.complete('retryable')]).toEqual(['claimed', 'none']);
      expect(played.stands).toEqual(['manual_recovery', 'manual_recovery', 5]);
      expect(played.step.last_error).toBe('it is away');
      expect(played.passes(3_600_000).claim()).toBe('manual_recovery');
    });
    it('is a person’s at once where trying again helps nobody', () => {
      const played = new Played(begun());
      played.claim();
      expect(played.complete('manual_recovery')).toBe('none');
      expect(played.stands).toEqual(['manual_recovery', 'manual_recovery', 1]);
    });
    it('keeps who claimed it, said what came of it and had it taken up again', () => {
      const played = new Played(begun());
      expect(played.step).toMatchObject({ claimed_by: null, completed_by: null, retried_by: null });
      played.claim();
      expect(played.step).toMatchObject({ claimed_by: 'somebody', completed_by: null });
      played.complete('manual_recovery');
      played.retry();
      expect(played.step).toMatchObject({ claimed_by: 'somebody', completed_by: 'another', retried_by: 'a third' });
      played.claim();
      played.complete('succeeded');
      expect(played.operation.steps[0]).toMatchObject({ completed_by: 'another', retried_by: 'a third' });
      const { steps, ...rest } = played.operation;
      const before = steps.map(({ claimed_by: _a, completed_by: _b, retried_by: _c, ...step }) => step);
      expect(keptOperation(JSON.stringify({ ...rest, steps: before })).steps[0]).toMatchObject({
        state: 'succeeded',
        completed_by: null,
      });
    });
    it('says why it is not claimed yet, and that is no attempt', () => {
      const played = new Played(begun());
      played.operation = held(played.operation, 'authority_fence', 'rows wait', AT + 5);
      expect(played.stands).toEqual(['pending', 'pending', 0]);
      expect(played.step.last_error).toBe('rows wait');
      expect(held(played.operation, 'authority_fence', 'rows wait', AT + 9)).toBe(played.operation);
    });
    it('keeps 512 characters of why', () => {
      const played = new Played(begun());
      played.claim();
      played.operation = completed(played.operation, {
        stepId: played.step.id,
        leaseSha256: LEASE,
        outcome: 'retryable',
        receipt: null,
        error: 'x'.repeat(4_096),
        by: 'another',
        nowMs: AT,
      });
      expect(played.step.last_error).toHaveLength(512);
    });
  });

  describe('whoever says what came of a step', () => {
    it.each([
      ['after the end of the lease', (played: Played) => played.passes(LEASE_MS).complete('succeeded')],
      ['by another lease', (played: Played) => played.complete('succeeded', OTHER)],
      [
        'when somebody else claimed it since',
        (played: Played) => {
          played.passes(LEASE_MS).claim({ leaseSha256: OTHER });
          return played.complete('succeeded');
        },
      ],
      [
        'twice',
        (played: Played) => {
          played.complete('retryable');
          return played.complete('retryable');
        },
      ],
    ])('%s is refused, and nothing changes', (_what, said) => {
      const played = new Played(begun());
      played.claim();
      expect(said(played)).toBe('lease_invalid');
      expect(played.step.receipt).toBeNull();
    });
    it('has a receipt for a success, of 16 KiB at most', () => {
      const played = new Played(begun());
      played.claim();
      const with_ = (receipt: { readonly text: string } | null) =>
        codeOf(() =>
          completed(played.operation, {
            stepId: played.step.id,
            leaseSha256: LEASE,
            outcome: 'succeeded',
            receipt,
            error: null,
            by: 'another',
            nowMs: AT,
          }),
        );
      expect([
        with_(null),
        with_({ text: 'x'.repeat(16_384) }),
        with_({ text: '\ud800' }),
        with_({ text: 'x'.repeat(16_000) }),
      ]).toEqual(['receipt_required', 'receipt_too_large', 'invalid_request', 'none']);
    });
  });

  describe('a retry', () => {
    it('makes a step due now that waits, and counts its attempts on', () => {
      const played = new Played(begun());
      played.claim();
      played.complete('retryable');
      expect(played.retry()).toBe('none');
      expect(waitMs(played.operation, played.nowMs)).toBe(0);
      played.claim();
      expect(played.stands).toEqual(['running', 'running', 2]);
    });
    it.each([
      ['that has not begun', () => undefined],
      ['that somebody is at', (played: Played) => played.claim()],
    ])('of a step %s is refused', (_what, before) => {
      const played = new Played(begun());
      before(played);
      expect(played.retry()).toBe('step_not_retryable');
    });
    it.each([1, 5])('of one that was a person’s after %i attempts is one more claim, and no more', (attempts) => {
      const played = new Played(begun());
      for (let attempt = 1; attempt <= attempts; attempt += 1) {
        played.passes(16_000).claim();
        played.complete(attempt === attempts ? 'manual_recovery' : 'retryable');
      }
      expect(played.retry()).toBe('none');
      expect([played.operation.state, played.step.state]).toEqual(['waiting_retry', 'retryable']);
      expect([played.claim(), played.complete('retryable')]).toEqual(['claimed', 'none']);
      expect(played.stands).toEqual(['manual_recovery', 'manual_recovery', attempts + 1]);
      // The same where nobody said what came of it.
      played.retry();
      expect(played.claim()).toBe('claimed');
      expect(played.passes(LEASE_MS).claim()).toBe('manual_recovery');
    });
    it('of one that then succeeds leaves the next step all its attempts', () => {
      const played = new Played(begun());
      played.claim();
      played.complete('manual_recovery');
      played.retry();
      played.claim();
      expect(played.complete('succeeded')).toBe('none');
      expect(played.operation.state).toBe('running');
      played.claim();
      played.complete('retryable');
      expect(played.stands).toEqual(['waiting_retry', 'retryable', 1]);
    });
  });

  it('never runs a step twice at once, never out of order, and never takes back what is done, whatever is asked', () => {
    const { next, pick } = seededRandom('moves of an operation on a tenant');
    for (let round = 0; round < 40; round += 1) {
      const played = new Played(begun(pick(['provision', 'offboard'])));
      let done = 0;
      for (let move = 0; move < 100 && played.operation.state !== 'succeeded'; move += 1) {
        const before = played.operation;
        const held = played.step.state === 'running' && Date.parse(played.step.lease_expires_at ?? '') > played.nowMs;
        const asked = pick(['claim', 'claim', 'succeed', 'fail', 'halt', 'retry', 'wait', 'late'] as const);
        if (asked === 'claim') {
          if (played.claim() === 'claimed') expect(held).toBe(false);
        } else if (asked === 'succeed') {
          if (played.complete('succeeded') === 'none') expect(held).toBe(true);
        } else if (asked === 'fail') played.complete('retryable');
        else if (asked === 'halt') played.complete('manual_recovery');
        else if (asked === 'retry') played.retry();
        else if (asked === 'late') expect(played.complete('succeeded', OTHER)).toBe('lease_invalid');
        else played.passes(Math.floor(next() * 40_000));
        const now = played.operation.steps.filter(({ state }) => state === 'succeeded').length;
        expect([done, done + 1]).toContain(now);
        done = now;
        expect(played.operation.steps.slice(0, done).every(({ state }) => state === 'succeeded')).toBe(true);
        expect(played.operation.steps.slice(done + 1).every(({ state }) => state === 'pending')).toBe(true);
        if (before !== played.operation && done < played.operation.steps.length)
          expect(
            {
              pending: ['pending', 'running'],
              running: ['running'],
              retryable: ['waiting_retry'],
              manual_recovery: ['manual_recovery'],
              succeeded: [],
            }[played.step.state],
          ).toContain(played.operation.state);
      }
    }
  });

  it('is completed under its lease alone', () => {
    const played = new Played(begun());
    expect(codeOf(() => assertLease(played.operation, 'authority_fence', LEASE, AT))).toBe('lease_invalid');
    played.claim();
    expect(codeOf(() => assertLease(played.operation, 'authority_fence', LEASE, AT))).toBe('none');
    expect(codeOf(() => assertLease(played.operation, 'authority_fence', LEASE, AT + LEASE_MS))).toBe('lease_invalid');
  });
});
