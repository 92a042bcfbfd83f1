import { TestEnvironment } from 'jest-environment-node';

/** The limit of a test finds what hangs. It is written for a machine of its own, and this many times as long on one that is shared. */
const PATIENCE = 5;

export default class PatientEnvironment extends TestEnvironment {
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
