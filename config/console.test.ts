import { describe, expect, it } from '@jest/globals';
import { CONSOLE_SETTINGS } from './console.js';
import { readConfig } from './env.js';

describe('GATE_CONSOLE_TRUSTED_PROXIES', () => {
  const read = (text: string) => () =>
    readConfig('console', { trustedProxies: CONSOLE_SETTINGS.trustedProxies }, { GATE_CONSOLE_TRUSTED_PROXIES: text })
      .trustedProxies;

  it('is a list of addresses and ranges', () => {
    expect(read('10.0.0.5, 10.1.0.0/16,fd00::/8,::ffff:10.0.0.0/104')()).toEqual([
      '10.0.0.5',
      '10.1.0.0/16',
      'fd00::/8',
      '::ffff:10.0.0.0/104',
    ]);
  });

  it.each([
    'proxy.example',
    '0.0.0.0/0',
    '::/0',
    '::ffff:0.0.0.0/96',
    '::ffff:10.0.0.0/103',
    '10.0.0.0/33',
    '10.0.0.0/8/8',
    '10.0.0.0/',
    'true',
    'loopback',
  ])('does not take %s', (text) => {
    expect(read(text)).toThrow('GATE_CONSOLE_TRUSTED_PROXIES');
  });
});
