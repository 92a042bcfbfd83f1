import { describe, expect, it } from '@jest/globals';
import type { CallSummary } from '../../contracts/call.js';
import { callInput } from '../../test/support/call-input.js';
import { ASK_AGAIN } from '../errors.js';
import { closeCall } from './close.js';
import { PipelineUnavailable } from './pipeline.js';

const call = callInput(Date.parse('2026-03-02T10:00:00Z'));
const aborted: CallSummary = {
  correlation_id: call.correlation_id,
  state: 'aborted',
  tier: null,
  approval_tier: 'standard',
  pending_id: null,
  deadline_ms: null,
  decided_ms: null,
};

function closing(abort: () => Promise<CallSummary | null>) {
  const told: string[] = [];
  const close = (error: unknown) =>
    closeCall(
      call,
      error,
      {
        appendRows: async () => void told.push('append'),
        answer: ({ state }) => void told.push(`answer ${state}`),
        appended: async () => void told.push('appended'),
      },
      (id, reason) => {
        told.push(`abort ${id === call.correlation_id} ${reason}`);
        return abort();
      },
    );
  return { told, close };
}

describe('the end of a call whose step failed, in both hosts', () => {
  it('closes the record, brings its rows to the ledger, answers, and waits for the rows', async () => {
    const { told, close } = closing(() => Promise.resolve(aborted));
    expect(await close(new Error('the disk is full'))).toEqual(aborted);
    expect(told).toEqual(['abort true pipeline error: the disk is full', 'append', 'answer aborted', 'appended']);
  });

  it('answers how the record stands, where it had ended before', async () => {
    const { told, close } = closing(() => Promise.resolve({ ...aborted, state: 'uncertain' }));
    await close('no error at all');
    expect(told).toContain('answer uncertain');
    expect(told[0]).toBe('abort true pipeline error: no error at all');
  });

  it('closes nothing where no verdict could stand: the layer that was away is what the caller is told', async () => {
    const { told, close } = closing(() => Promise.resolve(aborted));
    const away = new PipelineUnavailable('policy', 'policy is away');
    await expect(close(away)).rejects.toBe(away);
    expect(told).toEqual([]);
  });

  it.each([
    ['there is no record', () => Promise.resolve(null)],
    ['the store is away', () => Promise.reject(new Error('ECONNREFUSED 10.0.0.7'))],
  ])('promises no more than holds where %s, and names nothing of what is inside', async (_, abort) => {
    const { told, close } = closing(abort);
    const cause = new Error('a row of /var/lib/gate');
    await expect(close(cause)).rejects.toMatchObject({
      name: 'PipelineUnavailable',
      layer: 'proxy',
      message: `the call could not be closed; ${ASK_AGAIN}`,
      cause,
    });
    expect(told).toHaveLength(1);
  });
});
