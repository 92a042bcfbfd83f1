import { describe, expect, it } from '@jest/globals';
import { bareAddress, countedAddress, isAmong } from './counted-address.js';

describe('what an address counts as', () => {
  it.each([
    ['198.51.100.7', '198.51.100.7'],
    ['198.51.100.7:40001', '198.51.100.7'],
    ['::ffff:198.51.100.7', '198.51.100.7'],
    ['[::ffff:198.51.100.7]:40001', '198.51.100.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2::', '2001:db8:1:2::/64'],
    ['[2001:db8:1:2::9]', '2001:db8:1:2::/64'],
    ['[2001:db8:1:2::9]:40001', '2001:db8:1:2::/64'],
    ['fe80::1%eth0', 'fe80::/64'],
    ['::2', '::/64'],
    ['::1', '127.0.0.0/8'],
    ['[::1]:40001', '127.0.0.0/8'],
    ['127.0.0.1', '127.0.0.0/8'],
    ['127.255.3.9:40001', '127.0.0.0/8'],
    ['::ffff:127.0.0.2', '127.0.0.0/8'],
  ])('%s is %s', (text, counted) => {
    expect(countedAddress(text)).toBe(counted);
  });

  it.each([
    '',
    '7',
    '0x7f.1',
    'unknown',
    '_hidden',
    '198.51.100.7:',
    '198.51.100.7:port',
    '[198.51.100',
    '1.2.3.4:1:2',
  ])('is the text where that is no address: %j', (text) => {
    expect(countedAddress(text)).toBe(text);
  });

  it('is shown whole', () => {
    expect(bareAddress('[2001:db8:1:2::9]:40001')).toBe('2001:db8:1:2::9');
  });
});

describe('an address of a list', () => {
  const isListed = isAmong(['10.1.0.0/16', '192.0.2.1', 'fd00::/8', '::ffff:203.0.113.0/120']);

  it.each(['10.1.2.3', '10.1.2.3:443', '::ffff:10.1.2.3', '192.0.2.1', 'fd12::1', '[fd12::1]:443', '203.0.113.9'])(
    '%s is one',
    (text) => {
      expect(isListed(text)).toBe(true);
    },
  );

  it.each(['10.2.0.1', '192.0.2.2', 'fe00::1', '::1', 'unknown', '', '10.1.2.3:x', '203.0.114.1'])(
    '%s is none',
    (text) => {
      expect(isListed(text)).toBe(false);
    },
  );

  it('is never one of an empty list', () => {
    expect(isAmong([])('127.0.0.1')).toBe(false);
  });
});
