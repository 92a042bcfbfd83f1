import { describe, expect, it } from '@jest/globals';
import { routeMatcher } from './route-matcher.js';

const rows = [
  { method: 'GET', path: '/pending' },
  { method: 'GET', path: '/pending/{id}' },
  { method: 'GET', path: '/pending/stream' },
  { method: 'GET', path: '/audit/{agent_id}/count' },
  { method: 'GET', path: '/audit/replay/corpus' },
  { method: 'POST', path: '/pending' },
];
const match = routeMatcher(rows);
const pathOf = (method: string, url: string): string | null => match(method, url)?.path ?? null;

describe('one template matches the whole path', () => {
  it.each([
    ['GET', '/pending', '/pending'],
    ['GET', '/pending?tenant=acme&x=/y', '/pending'],
    ['GET', '/pending/7', '/pending/{id}'],
    ['GET', '/pending/stream', '/pending/stream'],
    ['GET', '/audit/acme%2Fsupport-bot/count', '/audit/{agent_id}/count'],
    ['GET', '/audit/replay/corpus', '/audit/replay/corpus'],
    ['GET', '/audit/replay/count', '/audit/{agent_id}/count'],
    ['POST', '/pending', '/pending'],
  ])('%s %s is %s', (method, url, template) => expect(pathOf(method, url)).toBe(template));

  it.each([
    ['another method', 'PUT', '/pending'],
    ['a method in another case', 'get', '/pending'],
    ['a prefix', 'GET', '/audit/a'],
    ['a longer path', 'GET', '/pending/7/8'],
    ['a trailing slash', 'GET', '/pending/'],
    ['an empty segment', 'GET', '//pending'],
    ['a dot segment', 'GET', '/pending/..'],
    ['an encoded dot segment', 'GET', '/pending/%2e%2E'],
    ['an encoded literal', 'GET', '/%70ending'],
    ['another case', 'GET', '/Pending'],
    ['a broken escape', 'GET', '/pending/%zz'],
    ['an escaped NUL', 'GET', '/pending/%00'],
    ['a full URL', 'GET', 'http://host/pending'],
    ['nothing', 'GET', ''],
  ])('%s matches nothing', (_what, method, url) => expect(pathOf(method, url)).toBeNull());

  it('an encoded literal segment is a parameter, never the literal', () =>
    expect(pathOf('GET', '/pending/%73tream')).toBe('/pending/{id}'));
});

describe('a route table that cannot be read one way only', () => {
  it('refuses two rows that match the same paths', () =>
    expect(() => routeMatcher([...rows, { method: 'GET', path: '/pending/{other}' }])).toThrow('are the same route'));
  it.each(['pending', '/pending/', '/a*', '/a{b}', '/{B}', '/../a', ''])('refuses the template %p', (path) =>
    expect(() => routeMatcher([{ method: 'GET', path }])).toThrow('is not a route template'),
  );
});
