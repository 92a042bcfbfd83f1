import { describe, expect, it } from '@jest/globals';
import { isHeard, isLogLevel, levelIn, logLevelFault } from './log-levels.js';

describe('the level from which on a client wants log messages', () => {
  it.each([
    [null, true],
    ['debug', true],
    ['warning', true],
    ['error', false],
    ['emergency', false],
    ['off', false],
  ] as const)('%s: a warning is heard is %s', (least, heard) => {
    expect(isHeard('warning', least)).toBe(heard);
  });

  it('orders all eight as RFC 5424 does: each is heard from itself on, and from each milder one', () => {
    const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;
    for (const [at, least] of levels.entries())
      expect(levels.filter((level) => isHeard(level, least))).toEqual(levels.slice(at));
  });

  it('is info where a client never said it: nobody knows what the server would say unasked', () => {
    expect([isHeard('debug', null), isHeard('info', null)]).toEqual([false, true]);
  });

  it('keeps a message without a level from whoever set one, and from nobody else', () => {
    const params = ['{"level":"error","data":1}', '{"level":"ERROR"}', '{"level":3}', '{"data":1}', '{"level":{}}'];
    expect(params.map(levelIn)).toEqual(['error', null, null, null, null]);
    expect([isHeard(null, null), isHeard(null, 'debug'), isHeard(null, 'off')]).toEqual([true, false, false]);
  });

  it('is one of the eight that there are', () => {
    expect(['notice', 'verbose', '', 3, null, undefined].map(isLogLevel)).toEqual([
      true,
      false,
      false,
      false,
      false,
      false,
    ]);
    expect(logLevelFault('logging/setLevel', { level: 'error' })).toBeNull();
    for (const params of [{ level: 'loud' }, { level: 4 }, {}, null, undefined, 'error'])
      expect(logLevelFault('logging/setLevel', params)).toMatch('must be one of debug, info');
    expect(logLevelFault('tools/list', undefined)).toBeNull();
  });
});
