import { describe, expect, it } from '@jest/globals';
import { notedUpstream } from './noted-upstream.js';
import type { Upstream, UpstreamOutcome } from './upstream.js';

const REPLY: UpstreamOutcome = { kind: 'reply', statusCode: 200, text: '{}', failed: false };
const AWAY: UpstreamOutcome = { kind: 'not_sent', reason: 'nobody is there' };
const LATE: UpstreamOutcome = { kind: 'unknown', cause: 'timeout', reason: 'late' };

describe('how an upstream that stands alone stood last', () => {
  const given: { call: UpstreamOutcome; control: UpstreamOutcome } = { call: REPLY, control: REPLY };
  const upstream: Upstream = {
    callTool: async () => given.call,
    control: async () => given.control,
    close: async () => undefined,
  };
  const noted = notedUpstream('tools', upstream, () => 5_000);
  const call = () => noted.upstream.callTool({ tenant: 't', agent: 'a' }, {}, { timeoutMs: 1 });
  const control = (method: string) => noted.upstream.control({ tenant: 't', agent: 'a' }, { method }, { timeoutMs: 1 });

  it('is known of nobody before it was asked, and then of each answer', async () => {
    expect(noted.standing()).toMatchObject({ name: 'tools', state: 'unknown' });
    expect(await call()).toBe(REPLY);
    expect(noted.standing()).toMatchObject({ state: 'answers', fault: null });
    given.call = AWAY;
    await call();
    expect(noted.standing()).toMatchObject({ state: 'failing', fault: 'unreachable', sinceMs: 5_000 });
    await control('tools/list');
    expect(noted.standing()).toMatchObject({ state: 'answers' });
    given.control = LATE;
    await control('tools/list');
    expect(noted.standing()).toMatchObject({ fault: 'timeout' });
  });

  it('is not said by an introduction that is remembered, nor by a call that was late', async () => {
    given.control = REPLY;
    await control('initialize');
    expect(noted.standing()).toMatchObject({ fault: 'timeout' });
    await control('tools/list');
    given.call = LATE;
    await call();
    expect(noted.standing()).toMatchObject({ state: 'answers' });
  });
});
