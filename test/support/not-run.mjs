/** Says at the end which tests did not run and what they need. A run may demand all but those that `GATE_TEST_MAY_SKIP` names. */
export default class NotRun {
  #missing = new Map();
  /** Where tests are chosen by name, the others were not meant to run. */
  #chosen;

  constructor({ testNamePattern }) {
    this.#chosen = Boolean(testNamePattern);
  }

  onTestResult(_test, { testResults }) {
    if (this.#chosen) return;
    for (const { status, fullName } of testResults) {
      if (status !== 'pending' && status !== 'todo') continue;
      const need = /\(needs ([\w-]+)\)/.exec(fullName)?.[1] ?? 'a reason';
      this.#missing.set(need, (this.#missing.get(need) ?? 0) + 1);
    }
  }

  onRunComplete() {
    for (const [need, count] of this.#missing)
      process.stderr.write(
        `not run: ${count} tests that need ${need}${this.#refused(need) ? ', which has to be there in this run' : ''}\n`,
      );
  }

  getLastError() {
    return [...this.#missing.keys()].some((need) => this.#refused(need))
      ? new Error('tests that have to run were skipped')
      : undefined;
  }

  #refused(need) {
    const may = process.env.GATE_TEST_MAY_SKIP;
    return may !== undefined && !may.split(' ').includes(need);
  }
}
