import { describe, expect, it } from '@jest/globals';
import { isPublicAddress, literalAddress, lowestAddress } from './addresses.js';
import { checkCallbackUrl, parseCallbackAllowlist } from './callback-url.js';

const PRIVATE = ['127.0.0.1:9000', 'localhost:9001', 'receiver:8080', '[::1]:9002', 'hooks.internal:443'];
/** A boundary for exactly this origin, so that only the rule under test can refuse the address. */
const openFor = (url: string): string[] => {
  const origin = URL.canParse(url) ? new URL(url).origin : 'null';
  return origin.startsWith('http') ? [origin] : ['https://hooks.example.com'];
};
const check = (url: string, entries = openFor(url), allowPrivate: readonly string[] = []) =>
  checkCallbackUrl(url, parseCallbackAllowlist(entries), { allowPrivate });
const refusal = (rule: RegExp) =>
  expect.objectContaining({
    name: 'GateError',
    code: 'callback_not_allowed',
    status: 400,
    message: expect.stringMatching(rule),
  });
const attempt = (run: () => unknown): unknown => {
  try {
    return run();
  } catch (error) {
    return error;
  }
};

describe('what a callback address may look like', () => {
  it.each([
    ['https://hooks.example.com/gate', 'https://hooks.example.com/gate'],
    ['HTTPS://Hooks.Example.COM/Gate?Token=a%20b', 'https://hooks.example.com/Gate?Token=a%20b'],
    ['http://hooks.example.com:8080/x', 'http://hooks.example.com:8080/x'],
    ['https://hooks.example.com./x', 'https://hooks.example.com/x'],
    ['https://hooks.example.com:443/x', 'https://hooks.example.com/x'],
    ['https://bücher.example/x', 'https://xn--bcher-kva.example/x'],
    ['https://hooks.example.com/a/../b', 'https://hooks.example.com/b'],
    ['https://8.8.8.8/x', 'https://8.8.8.8/x'],
    ['https://[2606:4700::1]/x', 'https://[2606:4700::1]/x'],
  ])('%s is taken as %s', (url, href) => {
    expect(check(url).href).toBe(href);
  });

  it.each([
    ['', /http/],
    ['not a url', /http/],
    ['/relative', /http/],
    ['//hooks.example.com/x', /http/],
    ['ftp://hooks.example.com/x', /http/],
    ['file:///etc/passwd', /http/],
    ['javascript:alert(1)', /http/],
    ['gopher://hooks.example.com', /http/],
    ['https:/hooks.example.com/x', /http/],
    ['https:hooks.example.com', /http/],
    ['https:///hooks.example.com', /http/],
    [' https://hooks.example.com', /http/],
    ['https://hooks.example.com/a b', /blanks/],
    ['https://hooks.example.com/a\tb', /blanks/],
    ['https://hooks.example.com/a\nb', /blanks/],
    ['https://hooks.example.com\\@evil.example/', /blanks/],
    ['https://hooks.example.com/\u0000', /control/],
    ['https://hooks.example.com/%zz', /percent-escape/],
    ['https://hooks.example.com/a%2', /percent-escape/],
    ['https://hooks.example.com/?q=%', /percent-escape/],
    ['https://user@hooks.example.com/', /user information/],
    ['https://user:secret@hooks.example.com/', /user information/],
    ['https://@hooks.example.com/', /user information/],
    ['https://hooks.example.com/#top', /fragment/],
    ['https://hooks.example.com/#', /fragment/],
    ['https://hooks%2eexample.com/', /percent-encoded/],
    ['https://hooks.example.com:/', /port/],
    ['https://hooks.example.com:0/', /port 0/],
    ['https://hooks.example.com:99999/', /not a URL/],
    ['https://hooks..example.com../', /dot|URL/],
    ['https://hooks.example.com/hil%2f..%2fadmin', /encoded slash/],
    ['https://hooks.example.com/hil%5c..%5cadmin', /encoded slash/],
    ['https://hooks.example.com/%00', /NUL/],
    [`https://hooks.example.com/${'a'.repeat(2_100)}`, /longer/],
  ])('refuses %j', (url, rule) => {
    expect(attempt(() => check(url, ['https://hooks.example.com']))).toEqual(refusal(rule));
  });
});

describe('names and addresses that are not public', () => {
  it.each([
    ['http://localhost/x', /local name/],
    ['http://LOCALHOST./x', /local name/],
    ['http://a.localhost/x', /local name/],
    ['http://printer.local/x', /local name/],
    ['http://metadata.google.internal/x', /local name/],
    ['http://router.home.arpa/x', /local name/],
    ['http://intranet/x', /single label/],
    ['http://intranet./x', /single label/],
    ['http://127.0.0.1/x', /not public/],
    ['http://127.1/x', /not public/],
    ['http://2130706433/x', /not public/],
    ['http://0x7f000001/x', /not public/],
    ['http://0x7f.1/x', /not public/],
    ['http://0177.0.0.1/x', /not public/],
    ['http://017700000001/x', /not public/],
    ['http://１２７.0.0.1/x', /not public/],
    ['http://127。0。0。1/x', /not public/],
    ['http://ⓛocalhost/x', /local name/],
    ['http://0.0.0.0/x', /not public/],
    ['http://10.1.2.3/x', /not public/],
    ['http://100.64.0.1/x', /not public/],
    ['http://169.254.169.254/latest/meta-data', /not public/],
    ['http://172.16.0.1/x', /not public/],
    ['http://192.168.1.1/x', /not public/],
    ['http://192.0.2.1/x', /not public/],
    ['http://198.18.0.1/x', /not public/],
    ['http://224.0.0.1/x', /not public/],
    ['http://255.255.255.255/x', /not public/],
    ['http://[::1]/x', /not public/],
    ['http://[::]/x', /not public/],
    ['http://[::ffff:127.0.0.1]/x', /not public/],
    ['http://[::ffff:7f00:1]/x', /not public/],
    ['http://[fd00::1]/x', /not public/],
    ['http://[fe80::1]/x', /not public/],
    ['http://[2002:7f00:1::]/x', /not public/],
    ['http://[64:ff9b::7f00:1]/x', /not public/],
    ['http://[4000::1]/x', /not public/],
    ['http://134744072/x', /dotted decimal/],
    ['http://0x08080808/x', /dotted decimal/],
    ['http://010.8.8.8/x', /dotted decimal/],
  ])('refuses %s', (url, rule) => {
    expect(attempt(() => check(url))).toEqual(refusal(rule));
  });

  it.each([
    ['http://127.0.0.1:9000/x', true],
    ['http://127.1:9000/x', true],
    ['http://localhost:9001/x', true],
    ['http://LOCALHOST:9001/x', true],
    ['http://receiver:8080/x', true],
    ['http://[::1]:9002/x', true],
    ['https://hooks.internal/x', true],
    ['http://127.0.0.1:9001/x', false],
    ['http://127.0.0.2:9000/x', false],
    ['http://localhost/x', false],
    ['http://receiver.other:8080/x', true],
    ['http://hooks.internal/x', false],
  ])('%s with the list of private pairs: %s', (url, accepted) => {
    const result = attempt(() => check(url, openFor(url), PRIVATE));
    expect(result instanceof URL).toBe(accepted);
  });

  it('does not open the allowlist for a private pair', () => {
    expect(attempt(() => check('http://127.0.0.1:9000/x', ['https://hooks.example.com'], PRIVATE))).toEqual(
      refusal(/allowlist/),
    );
  });
});

describe('the allowlist of callback addresses', () => {
  it('refuses every address while it is empty', () => {
    expect(attempt(() => check('https://hooks.example.com/x', []))).toEqual(refusal(/empty/));
  });

  it.each([
    ['https://h.example.com/hil', 'https://h.example.com/hil', true],
    ['https://h.example.com/hil', 'https://h.example.com/hil/x', true],
    ['https://h.example.com/hil/', 'https://h.example.com/hil/x', true],
    ['https://h.example.com/hil', 'https://h.example.com/hil?to=evil', true],
    ['https://h.example.com/hil', 'https://h.example.com/hil-x', false],
    ['https://h.example.com/hil', 'https://h.example.com/hil/../admin', false],
    ['https://h.example.com/hil', 'https://h.example.com/hil/%2e%2e/admin', false],
    ['https://h.example.com/hil', 'https://h.example.com/HIL', false],
    ['https://h.example.com/hil', 'https://h.example.com/?x=/hil', false],
    ['https://h.example.com/', 'https://h.example.com/anything', true],
    ['https://h.example.com', 'https://h.example.com', true],
    ['https://h.example.com', 'http://h.example.com/', false],
    ['https://h.example.com', 'https://h.example.com:8443/', false],
    ['https://h.example.com:443', 'https://h.example.com/', true],
    ['https://H.EXAMPLE.com.', 'https://h.example.com./', true],
    ['https://example.com', 'https://h.example.com/', false],
    ['https://h.example.com', 'https://h.example.com.evil.example/', false],
    ['https://h.example.com', 'https://evil.example/?h.example.com', false],
    ['https://bücher.example', 'https://xn--bcher-kva.example/', true],
  ])('%s and %s: %s', (entry, url, accepted) => {
    const result = attempt(() => check(url, ['https://other.example', entry]));
    expect(result instanceof URL).toBe(accepted);
  });

  it.each([
    'hooks.example.com',
    'ftp://hooks.example.com',
    'https://user@hooks.example.com',
    'https://hooks.example.com/?x=1',
    'https://hooks.example.com/?',
    'https://hooks.example.com/#x',
    'https://',
    '*',
    'https://hooks.example.com/%zz',
  ])('a wrong entry stops the start, by name: %s', (entry) => {
    expect(() => parseCallbackAllowlist(['https://good.example', entry])).toThrow(`"${entry}"`);
  });
});

describe('public addresses', () => {
  it.each([
    '0.1.2.3',
    '10.0.0.1',
    '100.127.255.255',
    '127.255.255.254',
    '169.254.0.1',
    '172.31.255.255',
    '192.0.0.8',
    '192.0.2.5',
    '192.88.99.1',
    '192.168.0.1',
    '198.19.255.255',
    '198.51.100.7',
    '203.0.113.9',
    '224.0.0.1',
    '239.1.1.1',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:10.0.0.1',
    '::127.0.0.1',
    '64:ff9b::808:808',
    '100::1',
    '2001::1',
    '2001:2::1',
    '2001:20::1',
    '2001:db8::1',
    '2002:808:808::1',
    '3fff::1',
    '4000::1',
    'fc00::1',
    'fd12::1',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    'name',
    '',
  ])('%s is not', (address) => {
    expect(isPublicAddress(address)).toBe(false);
  });
  it.each([
    '1.1.1.1',
    '8.8.8.8',
    '100.63.255.255',
    '172.32.0.1',
    '192.0.1.1',
    '223.255.255.255',
    '::ffff:8.8.8.8',
    '2606:4700::1',
    '2a00:1450::5',
  ])('%s is', (address) => {
    expect(isPublicAddress(address)).toBe(true);
  });
  it('chooses the lowest address, IPv4 before IPv6, by bytes', () => {
    expect(lowestAddress(['2606:4700::1', '9.9.9.9', '100.1.1.1', '8.8.8.8'])).toBe('8.8.8.8');
    expect(lowestAddress(['2606:4700::2', '2606:4700::1'])).toBe('2606:4700::1');
    expect(lowestAddress(['::ffff:8.8.8.8', '9.9.9.9'])).toBe('8.8.8.8');
  });
  it('reads every spelling of a literal', () => {
    for (const text of ['127.0.0.1', '127.1', '0x7f.1', '2130706433', '0177.1', '[::ffff:127.0.0.1]', '127.0.0.1.'])
      expect(literalAddress(text)).toBe('127.0.0.1');
    expect(literalAddress('example.com')).toBeNull();
  });
});
