import { expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { proxyMetrics } from '../api/proxy/metrics.js';
import { talkMetrics } from './talk-metrics.js';

it.each([
  ['worker', talkMetrics],
  ['proxy', (registry: Registry, read: () => number) => proxyMetrics(registry).watchDropped(read)],
] as const)('the %s counts what tools said to nobody, however often it is asked', async (name, watch) => {
  const registry = new Registry();
  let dropped = 0;
  watch(registry, () => dropped);
  const told: (string | undefined)[] = [];
  for (dropped of [0, 3, 3, 5])
    told.push(new RegExp(`^gate_${name}_tool_messages_dropped_total (\\d+)$`, 'm').exec(await registry.metrics())?.[1]);
  expect(told).toEqual(['0', '3', '3', '5']);
});
