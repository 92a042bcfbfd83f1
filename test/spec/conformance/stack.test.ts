import { STACK_START_LIMIT_MS, startStack } from '../../support/stack.js';
import { conformance } from './cases.js';

conformance(
  'the full stack',
  async () => {
    const stack = await startStack();
    return {
      bot: await stack.agent('conformance-bot'),
      decide: (correlationId, decision, reason) => stack.operator.decide(correlationId, decision, reason),
      rows: (correlationId, last) => stack.rows(correlationId, (kinds) => kinds.includes(last)),
      verify: () => stack.verify(),
      stop: () => stack.stop(),
    };
  },
  STACK_START_LIMIT_MS,
);
