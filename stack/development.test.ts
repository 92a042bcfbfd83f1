import { describe, expect, it } from '@jest/globals';
import { workflowPages } from './development.js';

describe('the console of a started stack', () => {
  it.each([
    ['by default', {}, 'http://127.0.0.1:8234/namespaces/gate/workflows'],
    [
      'at another port, in another namespace',
      { GATE_WORKFLOW_PAGES_PORT: '9234', GATE_TEMPORAL_NAMESPACE: 'a b' },
      'http://127.0.0.1:9234/namespaces/a%20b/workflows',
    ],
    ['at any free port', { GATE_WORKFLOW_PAGES_PORT: '0' }, undefined],
    ['where somebody else runs the engine', { GATE_TEMPORAL_ADDRESS: '127.0.0.1:7233' }, undefined],
  ])("knows where the engine's pages are: %s", (_, env, address) => {
    expect(workflowPages(env)['GATE_CONSOLE_WORKFLOW_PAGES_URL']).toBe(address);
  });
});
