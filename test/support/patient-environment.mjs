import asyncHooks from 'node:async_hooks';
import vm from 'node:vm';
import { TestEnvironment } from 'jest-environment-node';

/** The limit of a test finds what hangs. It is written for a machine of its own, and this many times as long on one that is shared. */
const PATIENCE = 5;

/**
 * Where Fastify looks first for the name of a plugin, which it says in errors. Of a plugin without one it looks for the file, in all of
 * `require.cache`, twice for each registration; Jest builds that list anew each time, and that took a fifth of the CPU time of a test of routes.
 */
const DISPLAY_NAME = Symbol.for('fastify.display-name');

/**
 * What Jest keeps its running test in. Tests of a file run one after another here, so one variable knows it; Jest's own keeps it through
 * `AsyncLocalStorage`, and in Node 20 each promise of the product and of the tests then costs a call of JavaScript: a tenth of the CPU time.
 */
class RunningTest {
  #store;

  getStore() {
    return this.#store;
  }

  async run(store, work) {
    const before = this.#store;
    this.#store = store;
    try {
      return await work();
    } finally {
      this.#store = before;
    }
  }
}

const { AsyncLocalStorage } = asyncHooks;

export default class PatientEnvironment extends TestEnvironment {
  /**
   * With a global object of its own. Jest asks for one behind a proxy, and each `Math`, `undefined` or `Array` in a test or the product was then
   * a call of that proxy: loops over texts took twice the time.
   */
  constructor(config, context) {
    const { createContext } = vm;
    vm.createContext = () => createContext(vm.constants.DONT_CONTEXTIFY);
    try {
      super(config, context);
    } finally {
      vm.createContext = createContext;
    }
  }

  async setup() {
    await super.setup();
    // Writable: a plugin that gives itself a name has that one.
    Object.defineProperty(this.global.Function.prototype, DISPLAY_NAME, { value: 'plugin', writable: true });
    // For Jest's own code, which is loaded for this file next. Everything that is loaded after its first event has Node's.
    asyncHooks.AsyncLocalStorage = RunningTest;
  }

  async teardown() {
    asyncHooks.AsyncLocalStorage = AsyncLocalStorage;
    await super.teardown();
  }

  handleTestEvent({ name }, state) {
    asyncHooks.AsyncLocalStorage = AsyncLocalStorage;
    // What a test leaves rejected at its end is told a turn later, and is still its own.
    if (name === 'test_fn_success') return new Promise((resolve) => setImmediate(resolve));
    if (name === 'run_start') {
      state.testTimeout *= PATIENCE;
      extend(state.rootDescribeBlock);
    }
    return undefined;
  }
}

function extend({ hooks, children }) {
  for (const limited of [...hooks, ...children]) if (limited.timeout) limited.timeout *= PATIENCE;
  for (const child of children) if (child.type === 'describeBlock') extend(child);
}
