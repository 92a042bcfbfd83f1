import { afterAll, beforeAll } from '@jest/globals';
import { STACK_START_LIMIT_MS, startStack, type TestStack } from './stack.js';

/**
 * The stack with its default settings, started once for the parts of one test file (test/spec/running-stack). Each part has agents of its own,
 * and nobody restarts the stack, sets it up otherwise or counts what another part may have done.
 */
export let gate: TestStack;
beforeAll(async () => {
  gate = await startStack();
}, STACK_START_LIMIT_MS);
afterAll(() => gate?.stop(), 150_000);
