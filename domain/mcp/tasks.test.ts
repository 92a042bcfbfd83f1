import { describe, expect, it } from '@jest/globals';
import { itemsOf } from './reply.js';
import {
  asksForTask,
  resultOfTask,
  servesTasks,
  taskFault,
  underId,
  withLogging,
  withTasks,
  withTaskSupport,
} from './tasks.js';

const answer = (result: string) => `{"jsonrpc":"2.0","id":1,"result":${result}}`;

describe('tasks of MCP', () => {
  it('are of revision 2025-11-25 and none before', () => {
    expect(['2025-11-25', '2025-06-18', '2024-11-05'].map(servesTasks)).toEqual([true, false, false]);
  });

  it('are a capability where there are tools', () => {
    const told = JSON.parse(withTasks(answer('{"capabilities":{"tools":{"listChanged":true}}}'))) as object;
    expect(told).toMatchObject({
      result: {
        capabilities: {
          tools: { listChanged: true },
          tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
        },
      },
    });
    for (const without of [answer('{"capabilities":{"prompts":{}}}'), '{"jsonrpc":"2.0","id":1,"error":{}}', 'none'])
      expect(withTasks(without)).toBe(without);
  });

  it('stand beside log messages, of which the upstream’s own word is kept', () => {
    const introduced = (text: string) => JSON.parse(withLogging(answer(`{"capabilities":${text}}`))) as object;
    expect(introduced('{"tools":{}}')).toMatchObject({ result: { capabilities: { tools: {}, logging: {} } } });
    expect(introduced('{"tools":{},"logging":{"x":1}}')).toMatchObject({
      result: { capabilities: { logging: { x: 1 } } },
    });
    expect(withLogging(answer('{"capabilities":{}}'))).toBe(answer('{"capabilities":{}}'));
  });

  it('are offered for every tool, whatever its upstream says, and nothing else of a list changes by a character', () => {
    const list = answer(
      '{"tools":[{"name":"a","inputSchema":{"maximum":1e400,"x":1.10}},{"name":"b","execution":{"taskSupport":"required","other":1}}],"nextCursor":"c"}',
    );
    expect(withTaskSupport(list)).toBe(
      answer(
        '{"tools":[{"name":"a","inputSchema":{"maximum":1e400,"x":1.10},"execution":{"taskSupport":"optional"}},{"name":"b","execution":{"taskSupport":"optional","other":1}}],"nextCursor":"c"}',
      ),
    );
    for (const other of [answer('{"tools":{}}'), answer('{}'), '{"jsonrpc":"2.0","id":1,"error":{}}'])
      expect(withTaskSupport(other)).toBe(other);
  });

  it('answer under the id of who asks, and name the task', () => {
    const text = answer('{"content":[],"n":1.10,"_meta":{"a":1}}');
    expect(underId('x')(text)).toBe('{"jsonrpc":"2.0","id":"x","result":{"content":[],"n":1.10,"_meta":{"a":1}}}');
    expect(resultOfTask('t', 2)(text)).toBe(
      '{"jsonrpc":"2.0","id":2,"result":{"content":[],"n":1.10,"_meta":{"a":1,"io.modelcontextprotocol/related-task":{"taskId":"t"}}}}',
    );
    expect(resultOfTask('t', 2)('{"jsonrpc":"2.0","id":1,"error":{"code":1}}')).toBe(
      '{"jsonrpc":"2.0","id":2,"error":{"code":1}}',
    );
  });

  it('are asked for by `task` in the parameters, which has its own members and no other', () => {
    expect([asksForTask({ params: { task: {} } }), asksForTask({ params: {} }), asksForTask({})]).toEqual([
      true,
      false,
      false,
    ]);
    for (const task of [{}, { ttl: 1 }, { ttl: null, pollInterval: 5 }])
      expect(taskFault('tools/call', { task })).toBeNull();
    for (const task of [null, [], 'x', { ttl: -1 }, { ttl: '1' }, { more: 1 }])
      expect(taskFault('tools/call', { task: task as never })).toEqual(expect.any(String));
    expect(taskFault('tasks/get', { taskId: 'x' })).toBeNull();
    for (const params of [undefined, {}, { taskId: 1 }, { taskId: 'x'.repeat(129) }])
      expect(taskFault('tasks/cancel', params)).toEqual(expect.any(String));
  });
});

describe('the elements of a list', () => {
  it('are given as they are written', () => {
    expect(itemsOf(' [ 1.10 , {"a":[1,2]},"x,]" , [] ] ')).toEqual(['1.10', '{"a":[1,2]}', '"x,]"', '[]']);
    expect(itemsOf('[]')).toEqual([]);
    for (const other of ['{}', '1', '']) expect(itemsOf(other)).toBeNull();
    expect(itemsOf(`[${'['.repeat(600)}${']'.repeat(600)}]`)).toBeNull();
  });
});
