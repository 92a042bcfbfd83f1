import { expect, it } from '@jest/globals';
import { openHil } from '../../test/support/hil.js';
import { channelReadiness } from './channel-readiness.js';

it.each([
  ['enforce', 0, 503],
  ['enforce', 1, 200],
  ['warn', 0, 200],
  ['disabled', 0, 200],
] as const)('with mode %s and %i channels, /readyz is %i', async (notificationMode, channels, status) => {
  const hil = await openHil('sqlite', { readiness: channelReadiness({ notificationMode }, channels) });
  const { statusCode, body } = await hil.service.health.inject('/readyz');
  expect(statusCode).toBe(status);
  expect(body.includes('no channel is set')).toBe(status === 503);
  await hil.close();
});
