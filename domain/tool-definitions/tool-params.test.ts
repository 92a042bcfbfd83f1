import { describe, expect, it } from '@jest/globals';
import { toolParams } from './tool-params.js';

const ONE = { tenant: 'acme', agent: 'one' };
const definition = (header: string) =>
  JSON.stringify({ inputSchema: { properties: { region: { type: 'string', 'x-mcp-header': header } } } });

describe('the parameters of a tool that are repeated in headers', () => {
  it('are those of the definition that its agent was last shown; a list that it is given counts at once', async () => {
    let shown = new Map([['sql', 'a']]);
    let read = 0;
    const params = toolParams({
      async seen() {
        read += 1;
        return shown;
      },
      texts: async (_tenant, digests) =>
        new Map(digests.filter((one) => one !== 'gone').map((one) => [one, definition(one === 'bad' ? 'a b' : one)])),
    });
    expect(await params.of(ONE, 'sql')).toEqual([{ name: 'a', path: ['region'] }]);
    expect(await params.of(ONE, 'unknown')).toEqual([]);
    expect(read).toBe(1);
    shown = new Map([['sql', 'b']]);
    expect(await params.of(ONE, 'sql')).toMatchObject([{ name: 'a' }]);
    params.listed(ONE);
    expect(await params.of(ONE, 'sql')).toMatchObject([{ name: 'b' }]);
    for (const nothing of ['bad', 'gone']) {
      shown = new Map([['sql', nothing]]);
      params.listed(ONE);
      expect(await params.of(ONE, 'sql')).toEqual([]);
    }
  });

  it('are read anew after a store that was away', async () => {
    let away = true;
    const params = toolParams({
      async seen() {
        if (away) throw new Error('the store is away');
        return new Map([['sql', 'a']]);
      },
      texts: async () => new Map([['a', definition('a')]]),
    });
    await expect(params.of(ONE, 'sql')).rejects.toThrow('away');
    away = false;
    expect(await params.of(ONE, 'sql')).toHaveLength(1);
  });
});
