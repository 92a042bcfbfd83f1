import { afterEach, describe, expect, it } from '@jest/globals';
import type { VerifiedAttestation } from '../contracts/verified-attestation.js';
import type { StillAttested } from '../domain/identity/attestation.js';
import { fixtureFolder, openPipeline, type PipelineFixture } from '../test/support/pipeline-fixture.js';
import { createActivities } from '../workers/activities.js';

const ATTESTED = { status: 'verified' } as VerifiedAttestation;

describe('an approved call, when what its platform attested counts no more', () => {
  let gate: PipelineFixture | undefined;
  afterEach(() => gate?.close());

  /** What comes of a call that was judged by this, once a person approved it; and what was asked. */
  async function approved(attestation: VerifiedAttestation | null | undefined, stillAttested?: StillAttested) {
    const asked: unknown[] = [];
    gate = await openPipeline({
      folder: await fixtureFolder(),
      script: { tier: 'yellow' },
      compose: (ports) =>
        createActivities({
          ...ports,
          ...(stillAttested && {
            stillAttested: (leaf) => {
              asked.push(leaf);
              return stillAttested(leaf);
            },
          }),
        }),
    });
    const call = await gate.call(attestation === undefined ? {} : { attestation });
    expect(await gate.run(call)).toMatchObject({ state: 'parked' });
    await gate.host.decide(await gate.decision(call, 'approve'));
    await gate.host.idle();
    const { state, outcome } = (await gate.calls.find(call.correlation_id)) ?? {};
    const leaf = { spiffe: call.agent_spiffe, fingerprint: call.credential_fingerprint };
    return { state, code: outcome?.code, sent: gate.executed.length, asked, leaf };
  }

  it('runs while it counts, asked about the certificate of the call', async () => {
    const { leaf, ...came } = await approved(ATTESTED, () => Promise.resolve(true));
    expect(came).toEqual({ state: 'completed', code: undefined, sent: 1, asked: [leaf] });
  });

  it('does not run where it counts no more', async () => {
    expect(await approved(ATTESTED, () => Promise.resolve(false))).toMatchObject({
      state: 'not_run',
      code: 'agent_standing_changed',
      sent: 0,
    });
  });

  it.each<[string, StillAttested | undefined]>([
    ['identity does not say', () => Promise.reject(new Error('away'))],
    ['nobody here says', undefined],
  ])('does not run where %s', async (_, stillAttested) => {
    expect(await approved(ATTESTED, stillAttested)).toMatchObject({
      state: 'not_run',
      code: 'attempt_not_begun',
      sent: 0,
    });
  });

  it.each([
    ['nobody asks for it', undefined],
    ['it was judged without one', null],
  ])('is not asked about where %s', async (_, attestation) => {
    expect(await approved(attestation, () => Promise.resolve(false))).toMatchObject({
      state: 'completed',
      sent: 1,
      asked: [],
    });
  });
});
