import vm from 'node:vm';
import { TestEnvironment } from 'jest-environment-node';

/** The limit of a test finds what hangs. It is written for a machine of its own, and this many times as long on one that is shared. */
const PATIENCE = 5;

/**
 * Where Fastify looks first for the name of a plugin, which it says in errors. Of a plugin without one it looks for the file, in all of
 * `require.cache`, twice for each registration; Jest builds that list anew each time, and that took a fifth of the CPU time of a test of routes.
 */
const DISPLAY_NAME = Symbol.for('fastify.display-name');

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
  }

  handleTestEvent({ name }, state) {
    if (name !== 'run_start') return;
    state.testTimeout *= PATIENCE;
    extend(state.rootDescribeBlock);
  }
}

function extend({ hooks, children }) {
  for (const limited of [...hooks, ...children]) if (limited.timeout) limited.timeout *= PATIENCE;
  for (const child of children) if (child.type === 'describeBlock') extend(child);
}
