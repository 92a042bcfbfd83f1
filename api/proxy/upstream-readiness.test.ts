import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { noUpstream } from '../../domain/upstream/no-upstream.js';
import type { NamedStanding } from '../../domain/upstream/upstream.js';
import { Partly } from '../plugins/health.js';
import { proxyMetrics } from './metrics.js';
import { upstreamReadiness, upstreamsSeen, upstreamsTold } from './upstream-readiness.js';

const STANDINGS: readonly NamedStanding[] = [
  { name: 'bank', state: 'answers', fault: null, sinceMs: null },
  { name: 'notes', state: 'held', fault: 'timeout', sinceMs: 0 },
  { name: 'files', state: 'unknown', fault: null, sinceMs: null },
];
const said = (standings: readonly NamedStanding[]) =>
  upstreamReadiness({ ...noUpstream, standings: () => standings })['upstreams']?.();

describe('how several upstreams stand', () => {
  it('is told in the readiness, and is no reason not to be ready', () => {
    expect(said(STANDINGS)).toBe(
      '1 of 3 answer; 1 not asked yet; notes fails since 1970-01-01T00:00:00.000Z (timeout)',
    );
    expect(said(STANDINGS.slice(0, 1))).toBe('1 of 1 answer');
  });

  it('is told people: partly, where some fail and not all', () => {
    const told = (standings: readonly NamedStanding[]) => upstreamsTold({ ...noUpstream, standings: () => standings });
    expect(told(STANDINGS)).toEqual({ ok: false, partly: true, words: '1 of 3 answer; 1 not asked yet; notes fails' });
    expect(told(STANDINGS.slice(0, 1))).toEqual({ ok: true, words: '1 of 1 answer' });
    expect(told(STANDINGS.slice(1, 2))).toEqual({ ok: false, words: '0 of 1 answer; notes fails' });
    expect(upstreamsSeen({ ...noUpstream, standings: () => STANDINGS }).upstreams).toThrow(Partly);
  });

  it('is told within bounds, however many fail', () => {
    const many = Array.from({ length: 64 }, (_, at) => ({ ...(STANDINGS[1] as NamedStanding), name: `n${at}` }));
    expect(JSON.stringify(said(many)).length).toBeLessThan(2_000);
  });

  it('is not told where there is one', () => {
    expect(upstreamReadiness(noUpstream)).toEqual({});
  });

  it('is a metric of each that was asked', async () => {
    const registry = new Registry();
    proxyMetrics(registry).watchUpstreams(() => STANDINGS);
    const text = await registry.metrics();
    expect(text).toContain('gate_proxy_upstream_answers{upstream="bank"} 1');
    expect(text).toContain('gate_proxy_upstream_answers{upstream="notes"} 0');
    expect(text).not.toContain('upstream="files"');
  });
});
