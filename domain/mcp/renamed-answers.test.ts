import { describe, expect, it } from '@jest/globals';
import { renamedPage, renamedResult, renamedUri } from './renamed-answers.js';

const NOBODY = new Set<string>();

describe('a page of a list', () => {
  it('has other names, and every other byte of an item as the upstream wrote it', () => {
    const item =
      '{"name" : "pay", "inputSchema":{"maximum":1e400,"enum":[1.10,12345678901234567890]}, "title":"\\u0041"}';
    expect(renamedPage('tools/list', `{"tools":[ ${item} ],"nextCursor":"2"}`, 'bank', NOBODY)).toEqual({
      items: [
        '{"name":"bank__pay","inputSchema":{"maximum":1e400,"enum":[1.10,12345678901234567890]},"title":"\\u0041"}',
      ],
      nextCursor: '2',
      leftOut: 0,
    });
  });

  it.each([
    ['prompts/list', '{"prompts":[{"name":"ask"}]}', '{"name":"bank__ask"}'],
    ['resources/list', '{"resources":[{"uri":"file:///a"}]}', '{"uri":"bank+file:///a"}'],
    [
      'resources/templates/list',
      '{"resourceTemplates":[{"uriTemplate":"x://{id}"}]}',
      '{"uriTemplate":"bank+x://{id}"}',
    ],
  ])('of %s', (method, result, item) => {
    expect(renamedPage(method, result, 'bank', NOBODY)?.items).toEqual([item]);
  });

  it.each([
    ['no name', '{"title":"x"}'],
    ['an empty name', '{"name":""}'],
    ['a name that is no text', '{"name":7}'],
    ['two names', '{"name":"a","name":"b"}'],
    ['no object', '"pay"'],
    ['a name that no call could have', `{"name":"${'x'.repeat(251)}"}`],
    ['a name that passes for another upstream’s', '{"name":"notes__add"}'],
  ])('leaves out an item with %s, and keeps the others', (_what, item) => {
    const page = renamedPage('tools/list', `{"tools":[${item},{"name":"pay"}]}`, 'bank', new Set(['notes']));
    expect(page?.items).toEqual(['{"name":"bank__pay"}']);
    expect(page?.leftOut).toBe(1);
  });

  it.each(['{}', '{"tools":{}}', '{"tools":null}', '[]', 'no JSON'])('%s is none', (result) => {
    expect(renamedPage('tools/list', result, 'bank', NOBODY)).toBeNull();
  });
});

describe('what a call names', () => {
  it.each([
    ['resources/read', '{"contents":[{"uri":"a:b","text":"t"}]}', '{"contents":[{"uri":"bank+a:b","text":"t"}]}'],
    [
      'tools/call',
      '{"content":[{"type":"resource_link","uri":"a:b"},{"type":"resource","resource":{"uri":"c:d"}}]}',
      '{"content":[{"type":"resource_link","uri":"bank+a:b"},{"type":"resource","resource":{"uri":"bank+c:d"}}]}',
    ],
    [
      'prompts/get',
      '{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"a:b"}}}]}',
      '{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"bank+a:b"}}}]}',
    ],
    [
      'tools/call',
      '{"content":[{"type":"resource_link","\\u0075ri":"a:b"}]}',
      '{"content":[{"type":"resource_link","uri":"bank+a:b"}]}',
    ],
  ])('in %s is readable under the address that it now has', (method, result, renamed) => {
    expect(renamedResult(method, result, 'bank')).toBe(renamed);
  });

  it.each([
    ['tools/call', '{"content":[{"type":"text","text":"see \\"uri\\" a:b"}],"structuredContent":{"uri":"a:b"}}'],
    ['tools/call', '{"content":{"uri":1}}'],
    ['resources/read', '{ "contents": [ {"text":"\\u0041"} ] }'],
  ])('in %s is left as it is where it is no resource: %s', (method, result) => {
    expect(renamedResult(method, result, 'bank')).toBe(result);
  });

  it('and a notification about a resource', () => {
    expect(renamedUri('{"uri":"a:b","x":1.0}', 'bank')).toBe('{"uri":"bank+a:b","x":1.0}');
  });
});
